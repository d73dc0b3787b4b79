"""The tables: measurements and dead letters, in Delta, and what their rows mean."""
