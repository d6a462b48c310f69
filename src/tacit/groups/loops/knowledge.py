"""Attackers who know terms already: is there a set B of known terms that links a further term t?

Each term of a group is a set of members, kept as bits. For a term t the search walks the sets B of at most h
other terms, as intersections of such bit sets, and stops at the first with n_{B+t} / n_B > p. It is exact and
pruned: a member with a rare term b (1 / n_b > p) has all other terms linked by b alone, which one pass over
the group finds; terms held by the same members are one choice; a B that excludes every holder of t cannot
link it.

Cost: with T distinct terms, D distinct member sets among them and n members, at most T * D^h * n / 64 word
operations for one group; each further h multiplies the worst case by D.
"""

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


_WORD = 64


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
    known_terms: int
    fewest_in_group: int
    common: NDArray[np.bool_]
    """For every term of the vocabulary: do enough users of the population hold it?"""


class Scratch(NamedTuple):
    """Working memory for judging a group, one place a term of the vocabulary; all 0 between calls.

    ``stop`` is one flag, shared by all threads: compiled loops cannot be interrupted, so they look at it.
    """

    holders: NDArray[np.int32]
    position: NDArray[np.int32]
    stop: NDArray[np.bool_]

    @classmethod
    def of(cls, terms: int, stop: NDArray[np.bool_] | None = None) -> Scratch:
        """Enough for a vocabulary of so many terms."""
        flag = np.zeros(1, np.bool_) if stop is None else stop
        return cls(np.zeros(terms, np.int32), np.zeros(terms, np.int32), flag)


@compiled
def _ones(word: np.uint64) -> int:
    """How many bits of ``word`` are set: counted in pairs, nibbles and bytes, then summed by a product."""
    word -= (word >> np.uint64(1)) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def _member_sets(
    members: NDArray[np.int64], rows: Rows, distinct: NDArray[np.int32], position: NDArray[np.int32]
) -> NDArray[np.uint64]:
    """One row of bits a distinct term: who holds it."""
    sets = np.zeros((distinct.size, (members.size + _WORD - 1) // _WORD), np.uint64)
    for index in range(distinct.size):
        position[distinct[index]] = index
    for place in range(members.size):
        bit = np.uint64(1) << np.uint64(place % _WORD)
        for at in range(rows.offsets[members[place]], rows.offsets[members[place] + 1]):
            sets[position[rows.terms[at]], place // _WORD] |= bit
    for term in distinct:
        position[term] = 0
    return sets


@compiled
def _same(sets: NDArray[np.uint64], left: int, right: int) -> bool:
    different = 0
    for word in range(sets.shape[1]):
        different += sets[left, word] != sets[right, word]
    return different == 0


@compiled
def _distinct_sets(sets: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One term for each distinct member set, and for every term how many share its set."""
    mixed = np.zeros(sets.shape[0], np.uint64)
    for index in range(sets.shape[0]):
        for word in range(sets.shape[1]):
            value = mixed[index] ^ sets[index, word]
            value = (value ^ (value >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
            mixed[index] = value ^ (value >> np.uint64(29))
    order = np.argsort(mixed)
    chosen = np.empty(sets.shape[0], np.int64)
    sharing = np.zeros(sets.shape[0], np.int64)
    found = 0
    run = 0
    for place in range(order.size):
        index = order[place]
        if place == 0 or mixed[order[place - 1]] != mixed[index]:
            run = found
        # Different sets may mix to one value: compare with every set chosen in this run.
        same = -1
        for earlier in range(run, found):
            if _same(sets, chosen[earlier], index):
                same = earlier
                break
        if same < 0:
            chosen[found] = index
            same = found
            found += 1
        sharing[chosen[same]] += 1
    return chosen[:found], sharing


@compiled
def _common(sets: NDArray[np.uint64], left: int, right: int) -> int:
    """How many members hold both terms."""
    count = 0
    for word in range(sets.shape[1]):
        count += _ones(sets[left, word] & sets[right, word])
    return count


@compiled
def _links(
    target: int,
    sets: NDArray[np.uint64],
    choices: NDArray[np.int64],
    holding: NDArray[np.int64],
    sharing: NDArray[np.int64],
    p: float,
    depth_limit: int,
    stop: NDArray[np.bool_],
) -> bool:
    """Is there a B of at most ``depth_limit`` choices with n_{B+target} / n_B > p?

    ``choices`` come rarest first: a rare known term is the likeliest to link.
    """
    useful = np.empty(choices.size, np.int64)
    size = 0
    for choice in choices:
        linked = _common(sets, choice, target)
        if linked == 0:
            continue
        # The target's own set of members is a choice only if another term shares it.
        if linked == holding[choice] and linked == holding[target] and sharing[choice] < 2:
            continue
        if linked / holding[choice] > p:
            return True
        useful[size] = choice
        size += 1
    return depth_limit > 1 and _links_together(target, sets, useful[:size], p, depth_limit, stop)


@compiled
def _links_together(
    target: int,
    sets: NDArray[np.uint64],
    useful: NDArray[np.int64],
    p: float,
    depth_limit: int,
    stop: NDArray[np.bool_],
) -> bool:
    """The search over sets of several choices, depth first."""
    known = np.empty((depth_limit, sets.shape[1]), np.uint64)
    next_choice = np.zeros(depth_limit + 1, np.int64)
    depth = 0
    while depth >= 0 and not is_raised(stop):
        if depth == depth_limit or next_choice[depth] == useful.size:
            depth -= 1
            continue
        choice = useful[next_choice[depth]]
        next_choice[depth] += 1
        holding, linked = 0, 0
        for word in range(sets.shape[1]):
            bits = sets[choice, word]
            if depth:
                bits &= known[depth - 1, word]
            known[depth, word] = bits
            holding += _ones(bits)
            linked += _ones(bits & sets[target, word])
        if linked == 0:
            continue
        if linked / holding > p:
            return True
        next_choice[depth + 1] = next_choice[depth]
        depth += 1
    return False


@compiled
def _mark_linked_by_rare_terms(
    members: NDArray[np.int64], rows: Rows, p: float, holders: NDArray[np.int32]
) -> None:
    """A member's rare term b, with 1 / n_b > p, links all the member's other terms: n_{b+t} >= 1."""
    for member in members:
        rare, which = 0, -1
        for at in range(rows.offsets[member], rows.offsets[member + 1]):
            if 1 / abs(holders[rows.terms[at]]) > p:
                rare += 1
                which = rows.terms[at]
        if rare == 0:
            continue
        for at in range(rows.offsets[member], rows.offsets[member + 1]):
            term = rows.terms[at]
            if rare > 1 or term != which:
                holders[term] = -abs(holders[term])


@compiled
def mark_linked_by_knowledge(
    members: NDArray[np.int64],
    rows: Rows,
    distinct: NDArray[np.int32],
    rule: CompiledCriterion,
    scratch: Scratch,
) -> None:
    """Turn n_t negative for every term t that some B of 1 to ``known_terms`` terms links."""
    p, holders = rule.p, scratch.holders
    _mark_linked_by_rare_terms(members, rows, p, holders)
    safe = 0
    for term in distinct:
        if holders[term] > 0 and holders[term] / members.size <= p:
            safe += 1
    if safe == 0:
        return
    sets = _member_sets(members, rows, distinct, scratch.position)
    choices, sharing = _distinct_sets(sets)
    holding = np.empty(distinct.size, np.int64)
    for index in range(distinct.size):
        holding[index] = abs(holders[distinct[index]])
    choices = choices[np.argsort(holding[choices], kind="mergesort")]
    for index in range(distinct.size):
        term = distinct[index]
        if holders[term] < 0 or holders[term] / members.size > p:
            continue
        if _links(index, sets, choices, holding, sharing, p, rule.known_terms, scratch.stop):
            holders[term] = -holders[term]
