"""Objects that stay: metadata, formulas over tags, windows of time, queries, and stores that keep them."""
