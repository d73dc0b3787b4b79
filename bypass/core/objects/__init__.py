"""Objects that an application stores and asks for: operations, own queries, and the node behind them."""
