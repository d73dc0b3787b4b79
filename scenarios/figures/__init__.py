"""Figures: from rows of events to shares, delays and percentiles."""
