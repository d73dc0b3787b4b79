"""How devices nearby hear each other: a radio, a fast medium, and a slow one to compare with."""
