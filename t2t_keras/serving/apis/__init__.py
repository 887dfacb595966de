"""What clients see of a server: its routes, grouped by API, and their description."""
