"""Scores of a model's output."""
