"""Indexes over the subscription table: each finds the rows that an event concerns."""
