"""What this machine can do: cores and memory, devices, precisions and speed."""
