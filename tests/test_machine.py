"""What is asked of the machine: a device, a precision, and never a crash to find out."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from regard.errors import RecipeError, RequestError
from regard.machine import cores, devices, memory

# Other tests find a replacement there.
from regard.machine.memory import keep_big_buffers

CPU = torch.device("cpu")


def test_auto_takes_the_best_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for cuda, mps, expected in (
        (True, True, "cuda"),
        (False, True, "mps"),
        (False, False, "cpu"),
    ):
        monkeypatch.setattr(torch.cuda, "is_available", lambda cuda=cuda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda mps=mps: mps)
        assert devices.choose_device("auto").type == expected


def test_the_cpu_is_everywhere() -> None:
    assert devices.choose_device("cpu") == CPU


@pytest.mark.parametrize("name", ["moon", "", "cuda:99", "meta", "cpu:x", "xla", "vulkan", "CPU "])
def test_a_device_that_is_not_there_is_said(name: str) -> None:
    with pytest.raises(RequestError) as raised:
        devices.choose_device(name)
    text = str(raised.value)
    assert f'"{name}"' in text
    assert '"cpu"' in text
    assert "\n" not in text


@pytest.mark.parametrize(
    ("asked", "chosen"),
    [("auto", torch.float32), ("float32", torch.float32), ("bfloat16", torch.bfloat16)],
)
def test_precision_on_a_cpu(
    monkeypatch: pytest.MonkeyPatch, asked: str, chosen: torch.dtype
) -> None:
    monkeypatch.setattr(devices, "bfloat16_runs", lambda: True)
    assert devices.choose_precision(asked, CPU) == chosen


def test_precision_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "bfloat16_runs", lambda: pytest.fail("not a CPU"))
    cuda = torch.device("cuda")
    for native, chosen in ((True, torch.bfloat16), (False, torch.float32)):

        def supported(including_emulation: bool = True, native: bool = native) -> bool:
            return native or including_emulation

        monkeypatch.setattr(torch.cuda, "is_bf16_supported", supported)
        assert devices.choose_precision("auto", cuda) == chosen
        assert devices.choose_precision("float32", cuda) == torch.float32
        assert devices.choose_precision("bfloat16", cuda) == torch.bfloat16
    assert devices.choose_precision("auto", torch.device("mps")) == torch.float32
    with pytest.raises(RecipeError, match="mps"):
        devices.choose_precision("bfloat16", torch.device("mps"))


def killed(*_: Any, **__: Any) -> SimpleNamespace:
    return SimpleNamespace(returncode=-4)  # SIGILL


def hanging(*_: Any, **__: Any) -> SimpleNamespace:
    raise subprocess.TimeoutExpired("python", 60)


def forbidden(*_: Any, **__: Any) -> SimpleNamespace:
    raise PermissionError(1, "no children here")


@pytest.mark.parametrize("child", [killed, hanging, forbidden])
def test_what_would_kill_the_process_is_refused(
    monkeypatch: pytest.MonkeyPatch, child: Any
) -> None:
    monkeypatch.setattr(subprocess, "run", child)
    assert not devices.bfloat16_runs()
    with pytest.raises(RecipeError, match="use float32"):
        devices.choose_precision("bfloat16", CPU)


def test_auto_on_a_cpu_starts_no_child(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("a child was started"))
    assert devices.choose_precision("auto", CPU) == torch.float32


def test_the_trial_runs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", devices.BFLOAT16_TRIAL], capture_output=True, timeout=60
    )
    # Below zero, a signal: this CPU is one of those the child is for.
    assert done.returncode <= 0


def test_big_buffers_are_kept_where_the_library_can(monkeypatch: pytest.MonkeyPatch) -> None:
    # In a child, since it changes the allocation of the whole process.
    text = "from regard.machine.memory import keep_big_buffers; print(keep_big_buffers())"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() in ("True", "False")
    monkeypatch.setattr(memory.platform, "system", lambda: "Darwin")
    assert keep_big_buffers() is False
    monkeypatch.setattr(memory.platform, "system", lambda: "Linux")
    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: SimpleNamespace())
    assert keep_big_buffers() is False
    for answer in (0, 1):
        library = SimpleNamespace(mallopt=lambda option, value, answer=answer: answer)
        monkeypatch.setattr(memory.ctypes, "CDLL", lambda name, library=library: library)
        assert keep_big_buffers() is bool(answer)


def test_there_is_a_core_to_run_on(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cores.usable_cores() >= 1
    monkeypatch.delattr("os.sched_getaffinity", raising=False)
    assert cores.usable_cores() >= 1


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A system that tells of itself only what a test writes."""
    monkeypatch.setattr(cores, "PROCESSES", tmp_path / "proc")
    monkeypatch.setattr(cores, "CONTROL_GROUPS", tmp_path / "cgroup")
    return tmp_path


def test_memory_is_what_the_system_or_the_narrowest_group_leaves(system: Path) -> None:
    (system / "proc" / "self").mkdir(parents=True)
    meminfo = system / "proc" / "meminfo"
    meminfo.write_text("MemTotal:  8000 kB\nMemFree: 10 kB\nMemAvailable:  5000 kB\nHugePages: 0\n")
    assert memory.free_memory() == 5000 * 1024
    assert memory.total_memory() == 8000 * 1024
    (system / "proc" / "self" / "cgroup").write_text("0::/outer/inner\n")
    inner = system / "cgroup" / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("max\n")
    (inner / "memory.current").write_text("1000\n")
    assert memory.free_memory() == 5000 * 1024
    (inner.parent / "memory.max").write_text("300000\n")
    (inner.parent / "memory.current").write_text("200000\n")
    (inner.parent / "memory.stat").write_text("anon 1\ninactive_file 50000\n")
    assert memory.free_memory() == 150_000  # files kept for later are given back
    assert memory.total_memory() == 300_000
    (inner.parent / "memory.current").write_text("400000\n")
    assert memory.free_memory() == 0


def test_memory_of_the_first_version_of_control_groups(system: Path) -> None:
    (system / "proc" / "self").mkdir(parents=True)
    (system / "proc" / "meminfo").write_text("MemAvailable:  5000 kB\n")
    # The own group, as the host calls it, is not to be seen from inside the container.
    (system / "proc" / "self" / "cgroup").write_text("4:memory:/docker/1\n3:cpuset:/\n0::/\n")
    top = system / "cgroup" / "memory"
    top.mkdir(parents=True)
    (top / "memory.limit_in_bytes").write_text("90000\n")
    (top / "memory.usage_in_bytes").write_text("30000\n")
    (top / "memory.stat").write_text("inactive_file 7\ntotal_inactive_file 10000\n")
    assert memory.free_memory() == 70_000
    (top / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    assert memory.free_memory() == 5000 * 1024


def test_memory_where_nothing_is_told(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr("os.sysconf")
    assert memory.free_memory() is None
    assert memory.total_memory() is None


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"cpu.max": "max 100000"}, 8),
        ({"cpu.max": "300000 100000"}, 3),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}, 8),
        ({"cpu.cfs_quota_us": "250000", "cpu.cfs_period_us": "100000"}, 2),
    ],
)
def test_a_container_may_have_less_time_than_cores(
    system: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], expected: int
) -> None:
    monkeypatch.setattr(cores, "own_cores", lambda: set(range(8)))
    (system / "proc" / "self").mkdir(parents=True)
    first = "cpu.max" not in files
    (system / "proc" / "self" / "cgroup").write_text("2:cpu,cpuacct:/\n" if first else "0::/\n")
    folder = system / "cgroup" / "cpu" if first else system / "cgroup"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text + "\n")
    assert cores.usable_cores() == expected


def test_busy_cores_are_those_of_others(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "own_cores", lambda: {0, 2})
    stat = system / "proc" / "stat"
    stat.parent.mkdir()
    # user nice system idle iowait irq softirq steal guest; core 1 is not ours.
    stat.write_text(
        "cpu 9 9 9 9\ncpu0 0 0 0 9 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0\n"
    )

    def while_we_sleep(seconds: float) -> None:
        stat.write_text(
            "cpu 9 9 9 9\ncpu0 20 5 10 9 0 0 0 15 20\ncpu1 50 0 0 0 0 0 0 0\n"
            "cpu2 0 0 0 40 10 0 0 0\nintr 1 2 3\n"
        )

    monkeypatch.setattr(cores.time, "sleep", while_we_sleep)
    monkeypatch.setattr(cores.time, "process_time", lambda: 0.0)
    assert cores.busy_cores() == pytest.approx(1.0)
    stat.unlink()
    monkeypatch.setattr("os.getloadavg", lambda: (1.5, 0.0, 0.0))
    assert cores.busy_cores() == 1.5


def test_the_rate_of_products_leaves_the_threads_as_they_were() -> None:
    before = torch.get_num_threads()
    rate = devices.gemm_rate(threads=before + 1, seconds=0.0)
    assert 1e7 < rate < 1e16
    assert torch.get_num_threads() == before


def test_the_rate_is_that_of_the_best_product(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 0.0, 4.0, 5.0, 5.0, 7.0, 11.0])
    monkeypatch.setattr(devices.time, "perf_counter", lambda: next(clock))
    # Products of 4 and of 2 seconds, then the time of 10 seconds is over.
    assert devices.gemm_rate(seconds=10.0) == 2 * 2048 * 512 * 2048 / 2


def test_a_type_that_is_only_imitated_is_measured_on_small_products(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rate(trial: float) -> float:
        clock = iter([0.0, trial, 0.0, 0.0, 0.0, 2.0, 11.0])
        monkeypatch.setattr(devices.time, "perf_counter", lambda: next(clock))
        return devices.gemm_rate(dtype=torch.float64, seconds=10.0)

    assert rate(trial=0.01) == 2 * 2048 * 512 * 2048 / 2
    assert rate(trial=0.1) == 2 * 256 * 64 * 256 / 2


def test_the_compiler_is_the_one_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert devices.compiler() is None
    for name in ("g++", "mine"):
        (tmp_path / name).touch(mode=0o755)
    assert devices.compiler() == str(tmp_path / "g++")
    monkeypatch.setenv("CXX", "mine")
    assert devices.compiler() == str(tmp_path / "mine")
