"""Formats of trace files: BonnMotion, ns-2, ONE and GPX, each read and written."""
