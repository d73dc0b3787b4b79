"""The mark of events that ingestion itself publishes, by which it does not take them in again."""

MARK = "ingested"
"""The attribute that such an event has, whatever its value."""
