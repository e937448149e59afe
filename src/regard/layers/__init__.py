"""Building blocks in plain PyTorch: they know tensors, and nothing of files, tokens or recipes."""
