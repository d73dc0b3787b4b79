"""Sizing: how many bytes measurements take, and how large a store has to be for them to stay long enough."""
