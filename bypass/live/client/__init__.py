"""A live client: its connection, its session, and where it is."""
