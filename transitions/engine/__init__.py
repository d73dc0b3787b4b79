"""The engine of one host: its proxies and groups, and the steps of a transition."""
