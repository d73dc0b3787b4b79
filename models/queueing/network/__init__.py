"""Networks of brokers: read from a file, and the routes of events through them."""
