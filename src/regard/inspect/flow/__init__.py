"""The way of one input through a model: every box of its figure, down to single products."""
