"""Plans of a broker: executed, told to clients, and followed there."""
