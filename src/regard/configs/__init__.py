"""The settings of every model, and formulas for its work. They load without PyTorch."""
