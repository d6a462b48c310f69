"""Data that Tacit brings along, with its notices."""
