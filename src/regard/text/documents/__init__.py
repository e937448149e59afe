"""Documents to texts and back: one file a format, which says where each text stands in a file.

A translation goes in where the text is; nothing else of the file changes, not a byte.
"""
