"""regard beside other libraries on the machine at hand; see docs/benchmarks.md."""
