"""A line of many megabytes costs little memory, whatever is learned from it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.toy_runs import toy_pairs, write_pairs

MEGABYTES = 8
# What PyTorch and a small training take, too.
ALLOWED = 350

CHILD = """
import resource, sys
from pathlib import Path
import torch, regard

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

before = peak()
small = {"train.steps": 2, "train.processes": 1, "train.threads": 1, "model.d_model": 16}
small |= {"tokenizer.vocabulary_size": 300, "model.d_ff": 16, "model.num_heads": 2}
source, target = Path("a.xx"), Path("a.yy")
given = {"text": [source]}
if sys.argv[1] == "pairs":
    given = {"pairs": [source, target]}
    small |= {"model.encoder_layers": 1, "model.decoder_layers": 1}
regard.train(out="run", settings=small, check=True, **given)
print(peak() - before)
"""


@pytest.mark.parametrize("kind", ["pairs", "text"])
def test_a_line_of_megabytes_costs_little_memory(kind: str, tmp_path: Path) -> None:
    line = "1 2 3 nul ein " * (MEGABYTES * 1_000_000 // 14)
    write_pairs(tmp_path, "a", [*toy_pairs(1000, 1), (line, line)])
    done = subprocess.run(
        [sys.executable, "-c", CHILD, kind],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) < ALLOWED
