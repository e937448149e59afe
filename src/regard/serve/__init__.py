"""A translation server that existing clients already speak to."""
