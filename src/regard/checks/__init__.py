"""Looks at data before it is trained on: each finding says what is wrong, where, and what to do."""
