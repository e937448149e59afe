"""Finds which sentences of two documents translate each other."""
