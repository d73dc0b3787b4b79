"""Caches: which entries stay when there is no room for all, and how parts of a cache share it."""
