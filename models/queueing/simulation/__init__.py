"""Response times by simulation, with random or recorded connectivity."""
