"""Commands that run brokers and edges, make their keys and compile their kernels."""
