"""Files that are whole or absent, and where Tacit keeps what it can rebuild."""

from tacit.files.atomic import atomic_directory, atomic_file, sync_directory
from tacit.files.cache import cache_directory

__all__ = ["atomic_directory", "atomic_file", "cache_directory", "sync_directory"]
