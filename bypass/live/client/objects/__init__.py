"""Stored objects at a live client: what its application inserts, asks for, retrieves and deletes."""
