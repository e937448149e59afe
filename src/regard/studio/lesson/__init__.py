"""A lesson: the page and its answers about some sentences, in one file."""
