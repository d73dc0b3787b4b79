"""The data pipeline: messages of devices are logged, normalised on Spark, kept in tables, and queried."""
