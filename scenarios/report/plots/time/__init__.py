"""Pictures over the time of a run, or around one transition."""
