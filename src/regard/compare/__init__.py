"""Runs side by side: the same sentences, one table, and which differences are real."""
