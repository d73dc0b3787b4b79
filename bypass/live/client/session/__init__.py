"""A live client's side of its session: what was asked, what has arrived, what is acknowledged."""
