"""Storage mechanisms: where objects and queries are kept, and how they find each other."""
