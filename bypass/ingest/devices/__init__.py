"""The devices that may send: their configurations, versions for executors, and their keys."""
