"""The policies of an edge: what it keeps, sends and asks for, how much, and when; each may be exchanged."""
