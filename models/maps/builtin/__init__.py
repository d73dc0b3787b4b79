"""The maps that come with the package."""
