"""Counting the people whose queries match, for every entry of a query log."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.compiled import compiled


@compiled
def count_companions(
    time: Any,
    sender: Any,
    region: Any,
    record: Any,
    lows: Any,
    highs: Any,
    w: float,
    k: int,
    same: Any,
    match: Any,
) -> None:
    """For each entry, people with the same region and with any region that matches, up to ``k`` each.

    Entries come sorted by region and time; ``sender`` and ``region`` are numbered from 0.
    """
    number = time.size
    begins = np.full(lows.shape[0] + 1, number, np.int64)
    for entry in range(number - 1, -1, -1):
        begins[region[entry]] = entry
    for r in range(lows.shape[0] - 1, -1, -1):
        begins[r] = min(begins[r], begins[r + 1])
    seen = np.full(sender.max() + 1 if number else 1, -1, np.int64)
    times = np.zeros(seen.size, np.int64)
    for r in range(lows.shape[0]):
        first, last, people = begins[r], begins[r], 0
        for entry in range(begins[r], begins[r + 1]):
            while last < begins[r + 1] and time[last] <= time[entry] + w:
                times[sender[last]] += 1
                if times[sender[last]] == 1:
                    people += 1
                last += 1
            while time[first] < time[entry] - w:
                times[sender[first]] -= 1
                if times[sender[first]] == 0:
                    people -= 1
                first += 1
            same[entry] = min(people, k)
        for entry in range(first, last):
            times[sender[entry]] = 0
    for entry in range(number):
        match[entry] = same[entry]
        if same[entry] >= k:
            continue
        people = 0
        for r in range(lows.shape[0]):
            inside = True
            for a in range(record.shape[1]):
                if record[entry, a] < lows[r, a] or record[entry, a] > highs[r, a]:
                    inside = False
                    break
            if not inside:
                continue
            low, high = begins[r], begins[r + 1]
            while low < high:
                middle = (low + high) // 2
                if time[middle] < time[entry] - w:
                    low = middle + 1
                else:
                    high = middle
            while low < begins[r + 1] and time[low] <= time[entry] + w and people < k:
                if seen[sender[low]] != entry:
                    seen[sender[low]] = entry
                    people += 1
                low += 1
            if people >= k:
                break
        match[entry] = people
