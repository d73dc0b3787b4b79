"""Runs of scenarios: one, several side by side, or a sweep on Spark."""
