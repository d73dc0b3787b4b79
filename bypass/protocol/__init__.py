"""The messages between hosts, and their encoding."""
