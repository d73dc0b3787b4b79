"""An edge as a process of its own."""
