"""The unit that times are counted in."""

# compiled into kernels
MICROSECONDS = 1_000_000
"""So many are a second."""
