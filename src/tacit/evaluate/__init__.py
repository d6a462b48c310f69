"""What each guard costs in search quality, on retrieval tasks: one file a task."""

__all__: list[str] = []
