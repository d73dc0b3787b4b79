"""`bypass ingest`: the data pipeline, a module for each group of commands."""

from bypass.cli.ingest import devices, exposure, operation, start, storage  # noqa: F401 - they add commands
