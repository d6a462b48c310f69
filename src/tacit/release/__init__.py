"""Guard 4: publish a search log under differential privacy, with a guarantee one can check."""

__all__: list[str] = []
