"""Operators of a live broker: requests, roll-outs of plans, status, metrics, the page."""
