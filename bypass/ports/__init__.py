"""The ports through which mechanisms see the world: host, radio, subscriptions, state information."""
