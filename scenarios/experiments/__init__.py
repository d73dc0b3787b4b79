"""Experiment files: their schema, their variants, and the inputs that they name."""
