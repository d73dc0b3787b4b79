"""Models of stores: what users of one do."""
