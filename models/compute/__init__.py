"""Engines that do independent pieces of work, in threads or on Spark."""
