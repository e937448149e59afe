"""HTTP: connections, requests, keys, limits, errors, the log and the metrics."""
