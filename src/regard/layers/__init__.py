"""Building blocks in plain PyTorch. They know tensors, but no files, tokens or recipes."""
