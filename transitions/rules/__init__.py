"""Rules as data, their conditions, and the engine that decides by them."""
