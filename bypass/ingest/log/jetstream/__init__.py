"""The log in NATS JetStream, for several machines."""
