"""Greedy, sampling and beam search, written once over any step function."""
