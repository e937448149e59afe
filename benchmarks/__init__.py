"""regard compared with other libraries on this machine; see docs/benchmarks.md."""
