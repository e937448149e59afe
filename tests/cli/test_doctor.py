"""`regard doctor`: what is found is told, and what could be better says how."""

import json
from dataclasses import replace
from typing import Any

import pytest

from regard.cli import doctor, main
from regard.machine import cores, devices, memory


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is measured, nothing is started."""
    monkeypatch.setattr(cores, "busy_cores", lambda: 0.0)
    monkeypatch.setattr(devices, "gemm_rate", lambda threads, seconds: 50e9 * threads)
    monkeypatch.setattr(devices, "bfloat16_runs", lambda: False)
    monkeypatch.setattr(memory, "keep_big_buffers", lambda: True)
    monkeypatch.setattr(cores, "usable_cores", lambda: 4)
    monkeypatch.setattr(devices, "choose_device", lambda name: devices.CPU)
    monkeypatch.setattr(doctor, "accelerators", list)


@pytest.fixture
def facts() -> doctor.Facts:
    return replace(
        doctor.examine(),
        busy_cores=0.0,
        memory_free=8 * 10**9,
        disk_free=10**11,
        spin_count="10000",
        wait_policy="",
        ctranslate2="4.8",
    )


def test_what_a_person_sees(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor"])
    printed = capsys.readouterr().out
    assert printed.startswith("regard ")
    assert "\x1b" not in printed
    for part in ("200 GFLOP/s in float32 on all cores, 50 on one", "bfloat16 does not run"):
        assert part in printed
    used = printed.partition("regard will use\n")[2]
    assert "training    cpu in float32, 4 processes of 1 thread\n" in used


def test_what_a_program_reads(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--json"])
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert answer["facts"]["cores"] == 4
    assert answer["use"]["processes"] * answer["use"]["threads"] <= 4
    assert {check["mark"] for check in answer["checks"]} <= {"ok", "note"}


def test_a_good_machine_gets_no_advice(facts: doctor.Facts) -> None:
    assert [check.name for check in doctor.checks(facts) if check.advice] == []


@pytest.mark.parametrize(
    ("found", "name", "way"),
    [
        ({"busy_cores": 1.4}, "cores", "--set train.threads=3"),
        ({"memory_free": 10**9}, "memory", "lower train.batch_tokens"),
        ({"ctranslate2": None}, "engine", "pip install ctranslate2"),
        ({"spin_count": ""}, "waiting", "GOMP_SPINCOUNT"),
        ({"wait_policy": "active"}, "waiting", "GOMP_SPINCOUNT"),
        ({"disk_free": 10**8}, "disk", "room"),
    ],
)
def test_what_could_be_better_says_how(
    facts: doctor.Facts, found: dict[str, Any], name: str, way: str
) -> None:
    (note,) = [check for check in doctor.checks(replace(facts, **found)) if check.advice]
    assert (note.name, note.mark) == (name, "note")
    assert way in note.advice


def test_the_engine_is_the_fast_one_where_it_is_installed(facts: doctor.Facts) -> None:
    assert doctor.what_is_used(facts).engine == "ctranslate2"
    assert doctor.what_is_used(replace(facts, ctranslate2=None)).engine == "torch"


def test_a_card_that_can_do_all_gets_no_advice(facts: doctor.Facts) -> None:
    card = replace(facts, accelerators=["A100"], accelerators_have_bfloat16=True)
    assert doctor.graphics_check(card) == doctor.Check("graphics", "A100")
    older = replace(facts, accelerators=["Tesla T4, 16 GB"])
    assert "float32" in doctor.graphics_check(older).text


def test_unknown_memory_is_no_reason_to_worry(facts: doctor.Facts) -> None:
    assert doctor.memory_check(replace(facts, memory_free=None)).mark == "ok"
