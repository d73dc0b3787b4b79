"""Queries: what the tables hold, and what comes into them."""
