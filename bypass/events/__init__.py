"""Events, their attributes, and the filters that subscribers choose them by."""
