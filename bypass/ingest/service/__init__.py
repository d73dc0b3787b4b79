"""The service: the processes of an installation, what they say about themselves, and its HTTP interface."""
