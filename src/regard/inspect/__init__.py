"""Looking inside a model: what attends to what, for the output that it really produced."""
