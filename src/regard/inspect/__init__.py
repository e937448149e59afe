"""Looking inside: what attends to what, for the output that was really produced."""
