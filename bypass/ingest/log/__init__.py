"""The log: messages are there before they are acknowledged, and are read from there in batches."""
