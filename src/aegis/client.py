"""A thin client of the catalog's API."""
