"""The parts of an infrastructure node, which is called an edge: its caches, what it knows of its area, and
what it tells other edges."""
