"""Ranges that models draw from."""

from __future__ import annotations


def ordered(bounds: tuple[float, float]) -> tuple[float, float]:
    """`bounds` if the lower one comes first. Raises ValueError."""
    if bounds[0] > bounds[1]:
        raise ValueError(f"{bounds} is no range: expected the lower bound first")
    return bounds
