"""Files that are whole or absent, named literally, and where Tacit keeps what it can rebuild."""

from tacit.files.atomic import atomic_directory, atomic_file, move_directory, sync_directory
from tacit.files.cache import cache_directory
from tacit.files.literal import literal_path
from tacit.files.output import check_output, check_output_folder
from tacit.files.state import state_directory

__all__ = [
    "atomic_directory",
    "atomic_file",
    "cache_directory",
    "check_output",
    "check_output_folder",
    "literal_path",
    "move_directory",
    "state_directory",
    "sync_directory",
]
