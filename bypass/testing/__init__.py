"""What tests of mechanisms of your own are made of: hypothesis strategies, suites to derive from, and small
systems, simulated and live."""
