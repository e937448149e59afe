"""regard doctor: what this machine can do, and what regard will use of it."""

import json
import os
import platform
import shutil
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version

from regard.cli.options import AsJson

# Less of these is worth a word: bytes of memory and of disk, and cores that other programs take.
LITTLE_MEMORY, LITTLE_DISK, BUSY = 2e9, 2e9, 0.3
MPS = "Apple MPS"


@dataclass(frozen=True)
class Facts:
    """What was found and measured."""

    regard: str
    python: str
    torch: str
    system: str
    cores: int
    cores_of_machine: int
    busy_cores: float
    memory_free: int | None
    memory_total: int | None
    flops_one_thread: float
    flops_all_threads: float
    bfloat16: bool
    accelerators: list[str]
    accelerators_have_bfloat16: bool
    allocator_keeps_buffers: bool
    spin_count: str
    wait_policy: str
    compiler: str | None
    ctranslate2: str | None
    disk_free: int


@dataclass(frozen=True)
class Use:
    """What training and translation take if nobody says otherwise."""

    device: str
    precision: str
    processes: int
    threads: int  # of each process
    engine: str


@dataclass(frozen=True)
class Check:
    name: str
    text: str
    advice: str = ""  # what could be better, and how

    @property
    def mark(self) -> str:
        return "note" if self.advice else "ok"


def doctor(*, as_json: AsJson = False) -> None:
    """Show what this machine can do, and what regard uses of it.

    Parameters
    ----------
    as_json
        Print one JSON object with everything.
    """
    from regard.cli.display import results

    facts = examine()
    use, found = what_is_used(facts), checks(facts)
    if as_json:
        listed = [{**asdict(check), "mark": check.mark} for check in found]
        answer = {"facts": asdict(facts), "checks": listed, "use": asdict(use)}
        results(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        show(facts, found, use)


def examine() -> Facts:
    """A few seconds of looking and measuring."""
    import torch

    from regard.cli.display import progress_bar
    from regard.machine import cores, devices, memory

    with progress_bar("measuring", 4) as bar:
        step = bar.task_ids[0]
        busy = cores.busy_cores()
        bar.advance(step)
        keeps = memory.keep_big_buffers()
        usable = cores.usable_cores()
        every = devices.gemm_rate(threads=usable, seconds=0.8)
        bar.advance(step)
        one = devices.gemm_rate(threads=1, seconds=0.8)
        bar.advance(step)
        bfloat16 = devices.bfloat16_runs()
    return Facts(
        regard=version("regard"),
        python=platform.python_version(),
        torch=torch.__version__,
        system=f"{platform.system()} {platform.machine()}",
        cores=usable,
        cores_of_machine=os.cpu_count() or usable,
        busy_cores=round(busy, 2),
        memory_free=memory.free_memory(),
        memory_total=memory.total_memory(),
        flops_one_thread=one,
        flops_all_threads=every,
        bfloat16=bfloat16,
        accelerators=accelerators(),
        accelerators_have_bfloat16=torch.cuda.is_available()
        and torch.cuda.is_bf16_supported(including_emulation=False),
        allocator_keeps_buffers=keeps,
        spin_count=os.environ.get("GOMP_SPINCOUNT", ""),
        wait_policy=os.environ.get("OMP_WAIT_POLICY", ""),
        compiler=devices.compiler(),
        ctranslate2=installed("ctranslate2"),
        disk_free=shutil.disk_usage(".").free,
    )


def accelerators() -> list[str]:
    """Graphics cards and their memory."""
    import torch

    if torch.backends.mps.is_available():
        return [MPS]
    names = []
    for number in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(number)
        names.append(f"{facts.name}, {gigabytes(facts.total_memory)}")
    return names


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def what_is_used(facts: Facts) -> Use:
    from regard.machine.devices import choose_device, choose_precision, claims_bfloat16
    from regard.tasks.sections import TokenTraining
    from regard.training.team import worthwhile

    device = choose_device("auto")
    processes = worthwhile(TokenTraining())
    fast = facts.ctranslate2 is not None and device.type == "cpu"
    precision = str(choose_precision("auto", device)).removeprefix("torch.")
    if device.type == "cpu" and facts.bfloat16 and claims_bfloat16():
        precision += " or bfloat16"
    return Use(
        device=device.type,
        precision=precision,
        processes=processes,
        threads=max(1, facts.cores // processes),
        engine="ctranslate2" if fast else "torch",
    )


def checks(facts: Facts) -> list[Check]:
    return [
        cores_check(facts),
        memory_check(facts),
        Check(
            "products",
            f"{facts.flops_all_threads / 1e9:,.0f} GFLOP/s in float32 on all cores, "
            f"{facts.flops_one_thread / 1e9:,.0f} on one"
            + (", beside other programs" if facts.busy_cores > BUSY else ""),
        ),
        precision_check(facts),
        graphics_check(facts),
        Check(
            "allocator",
            "keeps large buffers between operations"
            if facts.allocator_keeps_buffers
            else "the system's own; only glibc's can be told to keep large buffers",
        ),
        waiting_check(facts),
        Check("compiler", facts.compiler or "none; regard does not need one, torch.compile does"),
        engine_check(facts),
        Check(
            "disk",
            f"{gigabytes(facts.disk_free)} free here",
            "checkpoints of a large model take more: start where there is room"
            if facts.disk_free < LITTLE_DISK
            else "",
        ),
    ]


def cores_check(facts: Facts) -> Check:
    taken = facts.busy_cores
    return Check(
        "cores",
        f"{facts.cores} of {facts.cores_of_machine}, other programs take {taken:.1f} just now",
        "training will be slow beside them: stop them, or leave them their cores with "
        f"--set train.threads={max(1, round(facts.cores - taken))}"
        if taken > BUSY
        else "",
    )


def memory_check(facts: Facts) -> Check:
    if facts.memory_free is None:
        return Check("memory", "the system does not tell")
    total = f" of {gigabytes(facts.memory_total)}" if facts.memory_total else ""
    return Check(
        "memory",
        f"{gigabytes(facts.memory_free)} free{total}",
        "close other programs, or lower train.batch_tokens and raise train.accumulate"
        if facts.memory_free < LITTLE_MEMORY
        else "",
    )


def precision_check(facts: Facts) -> Check:
    if facts.bfloat16:
        return Check("precisions", "float32, and bfloat16 runs on this CPU")
    return Check("precisions", "float32; bfloat16 does not run on this CPU, regard will not try it")


def graphics_check(facts: Facts) -> Check:
    if not facts.accelerators:
        return Check("graphics", "no card, none is needed")
    names = "; ".join(facts.accelerators)
    if facts.accelerators_have_bfloat16 or names == MPS:
        return Check("graphics", names)
    return Check("graphics", f"{names}; float32, since bfloat16 would only be imitated")


def waiting_check(facts: Facts) -> Check:
    spins = facts.wait_policy.upper() == "ACTIVE" or not (facts.spin_count or facts.wait_policy)
    return Check(
        "waiting",
        f"GOMP_SPINCOUNT {facts.spin_count or 'not set'}, "
        f"OMP_WAIT_POLICY {facts.wait_policy or 'not set'}",
        "threads that spin are several times slower beside other programs: set GOMP_SPINCOUNT=1000"
        if spins
        else "",
    )


def engine_check(facts: Facts) -> Check:
    if facts.ctranslate2:
        return Check("engine", f"CTranslate2 {facts.ctranslate2}")
    advice = "translation is several times faster on CPUs with it: pip install ctranslate2"
    return Check("engine", "CTranslate2 is not installed", advice)


def show(facts: Facts, found: list[Check], use: Use) -> None:
    """For people; colours only where there is a terminal."""
    from regard.cli.terminal import Terminal

    console = Terminal(soft_wrap=True)
    console.print(
        f"regard {facts.regard}, torch {facts.torch}, Python {facts.python}, {facts.system}",
        style="bold",
    )
    for check in found:
        console.print(f"  {check.mark:<6}", style="yellow" if check.advice else "green", end="")
        console.print(f"{check.name:<12}{check.text}")
        if check.advice:
            console.print(f"{'':<20}→ {check.advice}", style="yellow")
    console.print("regard will use", style="bold")
    training = f"{use.device} in {use.precision}, {count(use.processes, 'process')}"
    console.print(f"{'':<8}{'training':<12}{training} of {count(use.threads, 'thread')}")
    console.print(f"{'':<8}{'translating':<12}{use.engine}")


def count(number: int, name: str) -> str:
    """1 thread, 2 processes"""
    return f"{number} {name}" + ("" if number == 1 else "es" if name.endswith("s") else "s")


def gigabytes(num_bytes: float) -> str:
    return f"{num_bytes / 1e9:.1f} GB"
