"""Sources of places: the sensor of a live client, and what feeds it."""
