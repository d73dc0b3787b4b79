"""The kernels of a radio medium, on its state in arrays; `event_loop` calls them in the order of time."""
