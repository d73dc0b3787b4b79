"""The client and the broker of every runtime, above the mechanisms that they exchange."""
