"""Files, pairs, ids and batches."""
