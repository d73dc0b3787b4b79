"""Reception: packets are charged, read, and handed to the part of a live broker that they concern."""
