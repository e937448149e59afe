"""The abilities of this machine: cores and memory, devices, precisions and speed."""
