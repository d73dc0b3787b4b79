"""The thread that serves a live broker, and the sockets at which clients reach it."""
