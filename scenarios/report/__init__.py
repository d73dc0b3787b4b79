"""Reports: a page with tables and pictures, and the files of a result."""
