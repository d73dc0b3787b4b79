"""Maps made from OpenStreetMap extracts."""
