"""The node of an edge: the clients in its area, what it passes on between them, and its service."""
