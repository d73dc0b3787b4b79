"""Suites for what the data pipeline is made of."""
