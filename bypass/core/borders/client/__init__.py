"""The client in border events: what it watches itself, and what it finds for others."""
