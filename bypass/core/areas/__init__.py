"""Areas of subscriptions: what applications give, and what a broker has to look up."""
