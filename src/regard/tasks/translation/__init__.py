"""Translation: sentences in one language to sentences in another."""
