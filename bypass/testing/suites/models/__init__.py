"""Suites for the models that experiments are made of."""
