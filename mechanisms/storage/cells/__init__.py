"""Square cells as virtual brokers: nodes of a cell keep the same keys and share the work for them."""
