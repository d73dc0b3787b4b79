"""Frames between live devices on one local network, by authenticated UDP."""
