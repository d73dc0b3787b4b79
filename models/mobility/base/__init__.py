"""The parts that mobility models share."""
