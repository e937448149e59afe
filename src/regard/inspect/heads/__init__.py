"""Attention heads: which there are, what a model loses without them, and models with fewer."""
