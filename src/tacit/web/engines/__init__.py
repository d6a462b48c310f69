"""Search engines: the interface to them, the catalogue of their kinds, and the client that asks them."""
