"""Exposure: measurements leave an installation, over HTTP, as a page, into archives and as located events."""
