"""What vanished groups tell of who left: people who rest against people counted again at once.

400 users of 40 terms (`benchmarks/groups_of_words.py`) are in groups at p = 0.4; 240 of them
leave one
after another. An observer lays to each leaver the terms of the group that vanished with the step, less those
that a group formed since shows (:mod:`tacit.audit.groups`).

Claims: since people of vanished groups rest until the next bundling, the observer is right no more often than
somebody who lays all of a vanished group's terms to the leaver, and below p; were they counted in new groups
at once, he would be right more often than p.

Run: ``python benchmarks/groups_leavers.py``
"""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

from groups_of_words import interest_profiles
from tacit.audit.groups import Learnt, Observer
from tacit.groups import Bundler, Groups
from tacit.groups.report import report
from tacit.groups.store import GroupsStore, write_groups

USERS, TERMS, LEAVERS, P = 400, 40, 240, 0.4


def observe(folder: Path) -> tuple[Learnt, float]:
    """What the observer learns, and the share of vanished groups' terms that were the leaver's."""
    profiles = interest_profiles(USERS, TERMS, seed=3)
    bundler = Bundler(p=P, augment=None, fewest_in_group=1)
    bundling = bundler.fit(profiles)
    write_groups(bundling, bundler, report(bundling), folder)
    held = {user: set(profiles.profile(row)) for row, user in enumerate(profiles.users)}
    chance, shares = random.Random(4), []
    with Groups.open(folder) as groups:
        seen = Observer.look(groups)
        observer = Observer(seen)
        for user in chance.sample(sorted(held), LEAVERS):
            groups.remove(user)
            after = Observer.look(groups)
            gone = {term for group in seen.keys() - after.keys() for term in seen[group]}
            if gone:
                shares.append(len(gone & held[user]) / len(gone))
            observer.step(after, held[user])
            seen = after
    return observer.learnt(), sum(shares) / len(shares)


def main() -> None:
    """Both ways."""
    with tempfile.TemporaryDirectory() as folder:
        resting, base = observe(Path(folder) / "resting")
        rest = GroupsStore.rest
        GroupsStore.rest = lambda _store, _users: None  # type: ignore[method-assign]
        try:
            counted, other = observe(Path(folder) / "counted")
        finally:
            GroupsStore.rest = rest  # type: ignore[method-assign]
    for name, found, chance in (("resting", resting, base), ("counted again", counted, other)):
        print(
            f"{name:>14}: {found.vanished:,} terms of vanished groups laid to who left, "
            f"{found.vanished_right:.1%} right; all their terms {chance:.1%}; p = {P:.0%}; "
            f"changes in groups that go on: {found.guesses} guesses, {found.right:.0%} right"
        )
    print(f"right, resting / counted again: {resting.vanished_right / counted.vanished_right:.2f}")


if __name__ == "__main__":
    main()
