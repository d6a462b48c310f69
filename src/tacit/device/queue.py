"""A priority queue over flat arrays, for kernels: the smallest key comes first.

Python's heapq runs in kernels too, over a list of pairs, and takes 1.3 to 2.2 times as long
(``python benchmarks/own_parts.py``).
"""

from __future__ import annotations

from tacit.device.kernel import kernel
from tacit.device.seed import Floats, Integers

__all__ = ["pop_smallest", "push"]


@kernel
def _before(key: Floats, item: Integers, left: int, right: int) -> bool:
    """Smaller key first; equal keys by item, so that the order never depends on history."""
    if key[left] != key[right]:
        return bool(key[left] < key[right])
    return bool(item[left] < item[right])


@kernel
def _swap(key: Floats, item: Integers, left: int, right: int) -> None:
    key[left], key[right] = key[right], key[left]
    item[left], item[right] = item[right], item[left]


@kernel
def push(key: Floats, item: Integers, size: int, new_key: float, new_item: int) -> int:
    """Add an entry; gives the new size. The arrays must have room."""
    place = size
    key[place] = new_key
    item[place] = new_item
    while place > 0 and _before(key, item, place, (place - 1) // 2):
        _swap(key, item, place, (place - 1) // 2)
        place = (place - 1) // 2
    return size + 1


@kernel
def pop_smallest(key: Floats, item: Integers, size: int) -> tuple[float, int, int]:
    """Take the smallest entry off: its key, its item and the new size."""
    first_key, first_item = key[0], item[0]
    size -= 1
    key[0], item[0] = key[size], item[size]
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _before(key, item, child + 1, child):
            child += 1
        if not _before(key, item, child, place):
            break
        _swap(key, item, child, place)
        place = child
    return first_key, first_item, size
