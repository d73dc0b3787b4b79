"""Pictures by place: figures of events, transitions of clients, and gateways."""
