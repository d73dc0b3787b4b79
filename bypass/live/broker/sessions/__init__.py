"""Sessions of a live broker, their quotas, and what each has not acknowledged."""
