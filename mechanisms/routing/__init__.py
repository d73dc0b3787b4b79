"""Routing mechanisms: how bodies of storage messages get to nodes and cells over several hops."""
