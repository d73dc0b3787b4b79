"""The store of a live broker: one SQLite file, its schema, and the threads that write and read it."""
