"""Small systems under test: simulated, live, and of radios."""
