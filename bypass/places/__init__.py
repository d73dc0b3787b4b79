"""Places: coordinates, the region that a broker serves, and the sensor that tells where a client is."""
