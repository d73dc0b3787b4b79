"""The log: messages are on disk before they are acknowledged, and are read from there in batches."""
