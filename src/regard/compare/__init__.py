"""Compare runs on the same sentences: one table, and which differences are real."""
