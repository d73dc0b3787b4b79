"""What the simulated world does by itself: where clients are, which streets there are, who publishes what."""
