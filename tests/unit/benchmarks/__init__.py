"""The benchmarks and the page of their figures."""
