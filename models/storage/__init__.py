"""Models of stores of objects: costs of their designs, a planner, energy, and a workload of posts."""
