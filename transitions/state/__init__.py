"""State of mechanisms: how fields are marked, read, and moved from one mechanism to the next."""
