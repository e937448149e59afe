"""Greedy, sampling and beam search, written once over any step function."""

from regard.decode.beam import beam
from regard.decode.contract import Filter, Hypothesis, Rows, State, Step
from regard.decode.sample import collect, sample

__all__ = ["Filter", "Hypothesis", "Rows", "State", "Step", "beam", "collect", "sample"]
