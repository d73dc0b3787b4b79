"""Objects that a client's application stores and asks for: operations, own queries, and the node behind them."""
