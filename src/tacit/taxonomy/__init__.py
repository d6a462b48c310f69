"""Topic trees: what a search can be about."""

__all__: list[str] = []
