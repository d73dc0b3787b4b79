"""The suites of the mechanisms that decide for an edge."""
