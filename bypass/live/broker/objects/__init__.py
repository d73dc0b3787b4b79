"""Objects at a live broker: their store, pages of the past, transfers in parts, and queries that go on."""
