"""Deliveries: from the clients that the broker selects to packets that go out, turn by turn."""
