"""The page: a run looked at in a browser, from its training curve to a single product."""
