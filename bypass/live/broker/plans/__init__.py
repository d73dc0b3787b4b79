"""The part of plans that a live broker stores."""
