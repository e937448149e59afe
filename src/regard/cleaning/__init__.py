"""Finds pairs that are better not learned from, each with a reason."""
