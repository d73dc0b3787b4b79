"""The parts of a cell that need no network: its keys, their places and hashes, subscribers, copies."""
