"""Files that are whole or absent, named literally, and where Tacit keeps what it can rebuild."""

from tacit.files.atomic import atomic_directory, atomic_file, sync_directory
from tacit.files.cache import cache_directory
from tacit.files.literal import literal_path

__all__ = ["atomic_directory", "atomic_file", "cache_directory", "literal_path", "sync_directory"]
