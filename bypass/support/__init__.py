"""Tools without a subject of their own: compiled kernels, random numbers, lazy imports, validation."""
