"""Commands that run brokers and edges, and make their keys."""
