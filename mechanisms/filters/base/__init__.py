"""The parts that all filter schemes share, at the client and at the broker."""
