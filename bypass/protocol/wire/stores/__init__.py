"""Bodies of messages of stores, of edges and of datagrams: most clients load none of it."""
