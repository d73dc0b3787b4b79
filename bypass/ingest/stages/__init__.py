"""The way of a message from bytes to measurements."""
