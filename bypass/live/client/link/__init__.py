"""The connection of a live client, and the part that makes a new one when it is lost."""
