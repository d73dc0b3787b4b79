"""Border events: whom a broker watches, who finds out what, and how watchers are told."""
