"""The settings of every model, and the work that each makes. They load without PyTorch."""
