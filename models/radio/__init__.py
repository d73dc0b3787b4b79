"""Radio between devices nearby: the parameters of a radio, and a medium that stations share."""
