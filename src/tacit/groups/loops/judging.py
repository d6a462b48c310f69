"""Compiled loops that judge groups of users, grow them, and gather what they release."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from tacit.compiled import compiled


@intrinsic  # type: ignore[untyped-decorator]
def is_raised(_context: Any, flag: Any) -> Any:
    """Inside a compiled loop: has another thread set ``flag[0]``, a bool, since?

    A plain ``flag[0]`` may be read once before the loop begins, because nothing in the loop changes it;
    an atomic load is made every time.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte = ir.IntType(8)
        value = builder.load_atomic(builder.bitcast(array.data, byte.as_pointer()), "monotonic", 1)
        return builder.icmp_unsigned("!=", value, ir.Constant(byte, 0))

    return types.boolean(flag), generate


class Rows(NamedTuple):
    """The terms of all users for compiled loops: row u is ``terms[offsets[u]:offsets[u + 1]]``."""

    offsets: NDArray[np.int64]
    terms: NDArray[np.int32]


class CompiledCriterion(NamedTuple):
    """A criterion for compiled loops."""

    paper: bool
    p: float
    fewest_members: int
    mean_profile: float
    fewest_in_group: int
    common: NDArray[np.bool_]
    """For every term of the vocabulary: do enough users of the population hold it?"""


class Scratch(NamedTuple):
    """Working memory for judging a group, one place a term of the vocabulary; all 0 between calls.

    ``stop`` is one flag, shared by all threads: compiled loops cannot be interrupted, so they look at it.
    """

    holders: NDArray[np.int32]
    stop: NDArray[np.bool_]

    @classmethod
    def of(cls, terms: int, stop: NDArray[np.bool_] | None = None) -> Scratch:
        """Enough for a vocabulary of so many terms."""
        flag = np.zeros(1, np.bool_) if stop is None else stop
        return cls(np.zeros(terms, np.int32), flag)


@compiled
def _count_holders(members: NDArray[np.int64], rows: Rows, holders: NDArray[np.int32]) -> NDArray[np.int32]:
    """Count n_t for every term of the group into ``holders``; give the distinct terms."""
    postings = 0
    for member in members:
        postings += rows.offsets[member + 1] - rows.offsets[member]
    distinct = np.empty(postings, np.int32)
    found = 0
    for member in members:
        for at in range(rows.offsets[member], rows.offsets[member + 1]):
            term = rows.terms[at]
            if holders[term] == 0:
                distinct[found] = term
                found += 1
            holders[term] += 1
    return distinct[:found]


@compiled
def _strict_holds(
    members: NDArray[np.int64], rows: Rows, holders: NDArray[np.int32], released: int, p: float
) -> bool:
    """No member holds more than a share p of the released terms (withheld ones are negative here)."""
    if released == 0:
        return False
    for member in members:
        owned = 0
        for at in range(rows.offsets[member], rows.offsets[member + 1]):
            if holders[rows.terms[at]] > 0:
                owned += 1
        if owned / released > p:
            return False
    return True


@compiled
def judge(members: NDArray[np.int64], rows: Rows, rule: CompiledCriterion, scratch: Scratch) -> bool:
    """Does the group of these members meet the rule?"""
    holds, _ = released_terms(members, rows, rule, scratch)
    return holds


@compiled
def released_terms(
    members: NDArray[np.int64], rows: Rows, rule: CompiledCriterion, scratch: Scratch
) -> tuple[bool, NDArray[np.int32]]:
    """Whether the group meets the rule, and the terms it may release (in no particular order).

    n_t / n is compared as a quotient: it is the double nearest to the fraction, as the p a person
    writes is, so that 2 of 5 meets p = 0.4.
    """
    if members.size < rule.fewest_members:
        return False, np.empty(0, np.int32)
    holders = scratch.holders
    distinct = _count_holders(members, rows, holders)
    if rule.paper:
        for term in distinct:
            holders[term] = 0
        return rule.mean_profile / distinct.size <= rule.p, distinct
    released = np.empty(distinct.size, np.int32)
    kept = 0
    for term in distinct:
        if (
            holders[term] / members.size > rule.p
            or holders[term] < rule.fewest_in_group
            or not rule.common[term]
        ):
            holders[term] = -holders[term]
        else:
            released[kept] = term
            kept += 1
    holds = _strict_holds(members, rows, holders, kept, rule.p)
    for term in distinct:
        holders[term] = 0
    return holds, released[:kept]


@compiled
def release_groups(
    member_offsets: NDArray[np.int64],
    members: NDArray[np.int64],
    rows: Rows,
    rule: CompiledCriterion,
    scratch: Scratch,
) -> tuple[
    NDArray[np.int64],
    NDArray[np.int32],
    NDArray[np.int32],
    NDArray[np.float32],
    NDArray[np.int64],
    NDArray[np.bool_],
]:
    groups = member_offsets.size - 1
    offsets = np.zeros(groups + 1, np.int64)
    all_terms = np.empty(rows.terms.size, np.int32)  # a group has at most its members' postings
    all_holders = np.empty(rows.terms.size, np.int32)
    all_weights = np.empty(rows.terms.size, np.float32)
    distinct = np.empty(groups, np.int64)
    holds = np.empty(groups, np.bool_)
    for number in range(groups):
        group = members[member_offsets[number] : member_offsets[number + 1]]
        holds[number], found = released_terms(group, rows, rule, scratch)
        found = np.sort(found)
        distinct[number] = _count_holders(group, rows, scratch.holders).size
        end = offsets[number]
        for term in found:
            all_terms[end] = term
            all_holders[end] = scratch.holders[term]
            all_weights[end] = scratch.holders[term] / group.size
            end += 1
        offsets[number + 1] = end
        for member in group:
            for at in range(rows.offsets[member], rows.offsets[member + 1]):
                scratch.holders[rows.terms[at]] = 0
    end = offsets[groups]
    return (
        offsets,
        all_terms[:end].copy(),
        all_holders[:end].copy(),
        all_weights[:end].copy(),
        distinct,
        holds,
    )


@compiled
def _closest(closeness: NDArray[np.float64], free: NDArray[np.bool_]) -> int:
    """The first free user of the largest closeness."""
    chosen = -1
    for candidate in range(free.size):
        if free[candidate] and (chosen < 0 or closeness[candidate] > closeness[chosen]):
            chosen = candidate
    return chosen


@compiled
def grow_groups(
    similarities: NDArray[np.float32],
    users: NDArray[np.int64],
    rows: Rows,
    rule: CompiledCriterion,
    scratch: Scratch,
) -> NDArray[np.int32]:
    """Algorithm 1 up to its leftovers.

    Args:
        similarities: eq. 4 of each pair of ``users``.
        users: the rows to group, in canonical order; the first is the random start.
        rows: the original terms, on which the criterion is judged.

    Returns:
        the group of each user, from 0, or -1 for those left in a group that did not meet the rule.
    """
    count = users.size
    labels = np.full(count, -1, np.int32)
    free = np.ones(count, np.bool_)
    places = np.empty(count, np.int64)
    members = np.empty(count, np.int64)
    seed, group, remaining = 0, 0, count
    while remaining > 0 and not is_raised(scratch.stop):
        closeness = np.zeros(count, np.float64)
        for other in range(count):
            closeness[other] = -similarities[seed, other]
        seed = _closest(closeness, free)
        closeness[:] = 0
        chosen, size, holds = seed, 0, False
        while True:
            places[size], members[size] = chosen, users[chosen]
            size += 1
            free[chosen] = False
            remaining -= 1
            holds = judge(members[:size], rows, rule, scratch)
            if holds or remaining == 0 or is_raised(scratch.stop):
                break
            for other in range(count):
                closeness[other] += similarities[chosen, other]
            chosen = _closest(closeness, free)
        if holds:
            for place in places[:size]:
                labels[place] = group
            group += 1
    return labels
