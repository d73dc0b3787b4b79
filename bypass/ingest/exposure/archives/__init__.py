"""Archives: sinks outside the installation that get all that is stored."""
