"""A live broker: sockets, sessions, a store, control, and a page to watch."""
