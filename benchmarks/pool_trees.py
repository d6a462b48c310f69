"""What one public tree costs beside regions that are cut anew, and what it takes to keep its leaves large.

Claims, on people drawn from Adult, k = 30:

- a tree made once from public data loses little more than cells cut for the very people who are there, if it
  was made for about as many; one made for more people than come is not used deeply;
- regions that are cut anew intersect: a service that can link a person's queries is left with fewer than k
  people within an hour; nested regions never intersect to less than the finest of them;
- a pool of other people than the public data has small leaves, and merging them mends it.

Run: ``python benchmarks/pool_trees.py``.
"""

from __future__ import annotations

import time

import numpy as np

from tacit.pool.protocol.population import adult
from tacit.pool.protocol.tree import Codes, Tree, grow_tree, headroom, losses

K = 30


def used(tree: Tree, people: Codes, least: int) -> np.ndarray:
    """The node of each person when nodes are opened while both children hold ``least``."""
    leaves = tree.leaves_of(people)
    inside = np.zeros(len(tree), np.int64)
    for leaf, number in zip(*np.unique(leaves, return_counts=True), strict=True):
        inside[list(tree.paths[int(leaf)])] += number
    node_of = {}
    for leaf in np.unique(leaves).tolist():
        path = tree.paths[leaf][::-1]
        for node, below in zip(path, (*path[1:], None), strict=True):
            node_of[leaf] = node
            if below is None or min(inside[list(tree.children[node])]) < least:
                break
    return np.array([node_of[leaf] for leaf in leaves.tolist()])


def price(tree: Tree, people: Codes) -> str:
    """IL and NCP of the people's regions."""
    loss, penalty = losses(tree.corners[used(tree, people, headroom(K))], tree.template)
    return f"{loss.mean():.2%}/{penalty.mean():.0%}"


def main() -> None:
    public, random = adult(), np.random.default_rng(1)
    template = public.template
    grow_tree(public.records[:200], template, K, 100)  # compiles
    print(
        "IL/NCP of one tree made for as many people; of cells cut for these; of a tree for four times as many"
    )
    for number in (200, 1_000, 2_000, 3_745, 15_000):
        people = public.draw(number, random)
        begun = time.process_time()
        tree = grow_tree(public.records, template, K, number)
        seconds = time.process_time() - begun
        anew = grow_tree(people, template, K, number)
        begun = time.process_time()
        tree.leaves_of(people)
        floor = time.process_time() - begun
        print(
            f"{number:>7,}: {price(tree, people):>12} {price(anew, people):>12} "
            f"{price(grow_tree(public.records, template, K, 4 * number), people):>12}; "
            f"{len(tree.leaves)} leaves, made in {seconds / max(floor, 1e-6):.0f} times that of finding all"
        )
    print("\npeople of 2,000 who fit all regions of one person: least, and share of people below k")
    people = public.draw(2_000, random)
    tree = grow_tree(public.records, template, K, 2_000)
    nodes = used(tree, people, headroom(K))
    finest = np.unique(nodes, return_counts=True)[1]
    fits = np.ones((2_000, 2_000), np.bool_)
    for epoch in range(1, 61):
        present = np.flatnonzero(random.random(2_000) < 0.55)
        cut = grow_tree(people[present], template, K, float(len(present)))
        leaf = cut.leaves_of(people)
        fits[present] &= leaf[present][:, None] == leaf[None, :]
        if epoch in (1, 10, 60):
            left = fits.sum(axis=1)
            print(f"cut anew, {epoch:>2} times: {left.min():>5} {(left < K).mean():>6.0%}")
    print(f"one tree, for ever: {finest.min():>5} {(finest < K).mean():>6.0%}")
    print("\na pool of the youngest quarter in a tree of everybody, 500 people")
    young = public.records[public.records[:, 0] <= np.quantile(public.records[:, 0], 0.25)]
    some = young[random.integers(len(young), size=500)]
    tree = grow_tree(public.records, template, K, 2_000)
    sizes = [size for size in tree.counts(some).values() if size]
    merged = tree.merged(tree.counts(some), 2 * K)
    kept = merged.counts(some).values()
    print(f"smallest leaf in use {min(sizes)} of {len(sizes)}; merged: {min(kept)} of {len(kept)}")


if __name__ == "__main__":
    main()
