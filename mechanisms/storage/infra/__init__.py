"""Stores aided by infrastructure: the parts of clients; those of infrastructure nodes are in edge/."""
