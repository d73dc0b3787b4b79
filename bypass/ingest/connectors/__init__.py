"""Connectors: messages of devices come in by any transport, and are acknowledged once they are in the log."""
