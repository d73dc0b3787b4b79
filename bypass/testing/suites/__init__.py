"""Suites to derive test classes from, one for each family."""
