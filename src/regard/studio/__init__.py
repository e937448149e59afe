"""The studio: shows a run in a browser, from its training curve to a single product."""
