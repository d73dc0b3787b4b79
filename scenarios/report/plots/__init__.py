"""Pictures of runs as inline SVG: time/ and maps/, boxes and bars, and the style that they share."""
