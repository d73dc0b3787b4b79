"""Adaptation: policies follow the load, so that measurements stay long enough in the bytes that there are."""
