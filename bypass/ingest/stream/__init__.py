"""The stream: Spark takes batches of the log through the stages into tables, each exactly once."""
