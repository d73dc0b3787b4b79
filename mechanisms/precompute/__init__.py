"""Pre-computation: which measurements of a device are kept, and when they go into the table."""
