"""Judging the events of one stretch: windows of time, the sensors in them, and judges for all schemes."""
