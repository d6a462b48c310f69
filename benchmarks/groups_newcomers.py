"""Fake accounts beside newcomers to groups of words, and observers of several generations.

**Newcomers.** Half of a log's people are in groups, which tell how common words are; of the others some come
as newcomers, with an attacker's fakes among them. Each fake holds the term that the attacker knows of his
victim, and nine common words. Newcomers are put into groups *by likeness* (Algorithm 1 under the same
criterion, which counts fakes as people), or *in random batches* (``tacit group assign``). The attacker takes
off what his own accounts hold. He guesses that the victim is in the group that shows the known term and holds
most of his fakes, and names the term that most of its other members hold; beside him, without the groups, he
names the term that most people hold. A victim is **exposed** of whom a shown term is held by more than a
share p of the group's real members, or who holds more than a share p of what they brought.

**Generations.** A tenth of the people leave after each. *Anew*: everybody who is left is bundled again.
*Stable*: groups stay, and terms are only withdrawn. Of how many people are the terms that all of their groups
have shown their own by more than a share p?

Run: ``python benchmarks/groups_newcomers.py LOG.parquet [--fewest-in-group 3] [--rounds 100]``
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from tacit import InfeasibleError
from tacit.groups import Bundler, Criterion, Profiles, Representative
from tacit.groups.bundles import FAKES, POOL, batches, brought, still_shown
from tacit.groups.bundling import MOST_USERS
from tacit.groups.reading import profiles_from_log

Held = dict[str, set[str]]


@dataclass(frozen=True)
class Group:
    """Members by name, and the terms that the group shows."""

    members: list[str]
    shown: set[str]


def profiles_of(people: Held) -> Profiles:
    return Profiles.from_mappings({user: dict.fromkeys(sorted(held), 1.0) for user, held in people.items()})


def by_likeness(people: Held, bundler: Bundler) -> list[Group]:
    """Groups of similar people; none where no grouping meets the criterion."""
    try:
        bundling = bundler.fit(profiles_of(people))
    except InfeasibleError:
        return []
    members: dict[int, list[str]] = {}
    for user, label in zip(bundling.profiles.users, bundling.labels.tolist(), strict=True):
        members.setdefault(label, []).append(user)
    return [Group(members[each.group], set(each.terms)) for each in bundling.representatives]


def in_batches(people: Held, rule: Criterion, others: Counter[str], key: bytes) -> list[Group]:
    """The batches that show something."""
    holders = others + Counter(chain.from_iterable(people.values()))
    found = []
    for batch in batches(people, key):
        held = [people[user] for user in batch]
        made = Representative(MOST_USERS, len(batch), brought(held, rule, holders))
        if shown := still_shown(made, held, rule, FAKES):
            found.append(Group(batch, set(shown.terms)))
    return found


def exposed(group: Group, people: Held, victim: str, p: float) -> bool:
    """Whether the victim is linked above p, or holds more than p of what real members brought."""
    real = [user for user in group.members if not user.startswith("fake")]
    counts = Counter(term for user in real for term in people[user] & group.shown)
    own = people[victim] & group.shown
    return any(counts[term] / len(real) > p for term in own) or len(own) > p * len(counts)


def named(groups: Sequence[Group], people: Held, known: str, popular: Sequence[str]) -> str:
    """The term that the attacker names."""
    best, most = "", -1
    for group in groups:
        fakes = [user for user in group.members if user.startswith("fake")]
        if known in group.shown and len(fakes) > most:
            real = Counter(
                term
                for user in group.members
                if not user.startswith("fake")
                for term in people[user] & group.shown - {known}
            )
            best, most = max(real, key=lambda term: (real[term], term), default=""), len(fakes)
    return best or next(term for term in popular if term != known)


def newcomers(people: Held, rule: Criterion, rounds: int) -> Iterator[str]:
    """What fakes among newcomers get, for several numbers of them."""
    yield "fakes of 100 | grouped | groups | in a group | victim exposed | named right | without the groups"
    for fakes in (0, 2, 5, 10, 30):
        for way in ("by likeness", "in random batches"):
            groups = seated = open_to = right = without = 0
            for number in range(rounds):
                draw = random.Random(f"{number} {fakes}")
                names = draw.sample(sorted(people), len(people))
                half = len(names) // 2
                others = Counter(chain.from_iterable(people[user] for user in names[:half]))
                common = sorted(term for term, n in others.items() if n >= FAKES + 2)
                come = {user: people[user] for user in names[half : half + POOL - fakes]}
                victim = next(user for user in come if len(come[user]) > 1)
                known = draw.choice(sorted(come[victim]))
                came = come | {
                    f"fake-{n}": {known, *draw.sample(common, min(9, len(common)))} for n in range(fakes)
                }
                found = (
                    by_likeness(came, Bundler(p=rule.p, fewest_in_group=rule.fewest_in_group, seed=number))
                    if way == "by likeness"
                    else in_batches(came, rule, others, number.to_bytes(32, "little"))
                )
                popular = [term for term, _ in others.most_common(5)]
                groups += len(found)
                seated += sum(user in come for group in found for user in group.members)
                open_to += any(
                    victim in group.members and exposed(group, came, victim, rule.p) for group in found
                )
                right += named(found, came, known, popular) in come[victim]
                without += named([], came, known, popular) in come[victim]
            yield (
                f"{fakes:12} | {way} | {groups / rounds:.1f} | {seated / rounds / len(come):.1%} | "
                f"{open_to / rounds:.1%} | {right / rounds:.1%} | {without / rounds:.1%}"
            )


def generations(people: Held, bundler: Bundler) -> Iterator[str]:
    """Of how many people the terms common to all their groups are their own above p, after 1 to 4."""
    draw, here, rule = random.Random(1), sorted(people), bundler.rule_of_release
    first = by_likeness(people, bundler)
    stable = {
        n: Representative(n, len(group.members), dict.fromkeys(group.shown, 1.0))
        for n, group in enumerate(first)
    }
    members = {n: set(group.members) for n, group in enumerate(first)}
    told: dict[str, dict[str, list[set[str]]]] = {"anew": {}, "stable": {}}
    yield "generations | anew | stable | still in a stable group"
    for generation in range(1, 5):
        anew = by_likeness(
            {user: people[user] for user in here}, Bundler(**{**vars(bundler), "seed": generation})
        )
        for way, groups in (
            ("anew", [(group.members, group.shown) for group in anew]),
            ("stable", [(members[n], set(shown.terms)) for n, shown in stable.items()]),
        ):
            for users, shown in groups:
                for user in users:
                    told[way].setdefault(user, []).append(shown)
        above = {}
        for way, seen in told.items():
            listed = [
                (people[user], set.intersection(*sets))
                for user, sets in seen.items()
                if len(sets) == generation
            ]
            above[way] = sum(bool(c) and len(c & own) / len(c) > rule.p for own, c in listed) / max(
                len(listed), 1
            )
        served = sum(map(len, members.values())) / len(here)
        yield f"{generation:11} | {above['anew']:.1%} | {above['stable']:.1%} | {served:.1%}"
        gone = set(draw.sample(here, len(here) // 10))
        here = [user for user in here if user not in gone]
        for n in list(stable):
            for user in sorted(members[n] & gone):  # one after another, as the service does
                members[n].remove(user)
                rest = still_shown(stable[n], [people[each] for each in members[n]], rule)
                if rest is None:
                    del stable[n], members[n]
                    break
                stable[n] = rest


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("log", type=Path)
    parser.add_argument("--fewest-in-group", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=100)
    chosen = parser.parse_args()
    read = profiles_from_log(chosen.log)
    people = {user: set(read.profile(row)) for row, user in enumerate(read.users)}
    rule = Criterion(0.4, fewest_in_group=chosen.fewest_in_group)
    print(*newcomers(people, rule, chosen.rounds), sep="\n")
    print(*generations(people, Bundler(fewest_in_group=chosen.fewest_in_group)), sep="\n")


if __name__ == "__main__":
    main()
