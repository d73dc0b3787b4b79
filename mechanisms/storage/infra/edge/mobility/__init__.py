"""The parts of an edge that know where its clients go, and send items there before them."""
