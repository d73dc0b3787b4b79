"""Pictures of runs as inline SVG, one module for each kind."""
