"""Brokers and clients in production: real sockets, real clocks, real places, and a store on disk."""
