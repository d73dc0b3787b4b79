"""The unit of times."""

# compiled into kernels
MICROSECONDS = 1_000_000
"""So many are a second."""
