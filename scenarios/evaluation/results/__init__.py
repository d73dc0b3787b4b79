"""The results of an evaluation: totals, the table of events, and the picture."""
