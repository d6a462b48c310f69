# ruff: noqa: E501, T201
"""Lines of releases, of accounting, of groups and of the search page, each weakened by itself in a scratch copy, and the tests that must fail.

    python -m tests.weakenings             # all of them; about five processor minutes
    python -m tests.weakenings 3 17        # some, by their numbers

Prints for each whether a test saw it, and which; exits with an error if one survives. Widths, thresholds and
charges of whole schedules are weakened one by one in ``tests/property/test_schedule_mutants.py`` and
``test_adaptive_mutants.py``; here are lines that stand for themselves.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

WEAKENED: tuple[tuple[str, str, str, str], ...] = (
    # where; what stands there; the weaker line; tests
    ("device/ranking/density.py", "0.25, 0.08, 0.6", "0.25, 0.08, 0.4", "unit/test_sending_interests.py"),
    ("release/execution.py", "np.where(counts >= part.minimum, counts, 0)", "counts + 0",
     "property/test_schedule_checks.py property/test_click_guarantee.py unit/test_public_domain.py"),
    ("release/execution.py", "shown &= np", "shown |= np", "property/test_schedule_checks.py unit/test_public_domain.py"),
    ("release/execution.py", "sizes.max() <= held:", "sizes.max() <= 2 * held:", "unit/test_adaptive_rounds.py"),
    ("release/execution.py", "np.minimum(squares, bound) *", "squares *", "property/test_noisy_numbers_alone.py"),
    ("release/execution.py", "source, least=limit_of(weights))", "source)",
     "property/test_noisy_numbers_alone.py unit/test_clipped_counts.py"),
    ("release/execution.py", "reached |= listed &", "reached |= True &",
     "property/test_noisy_numbers_alone.py unit/test_adaptive_rounds.py"),
    ("release/rounds_analysis.py", "in schedule.tally.sigmas]", "in schedule.tally.sigmas[:2]]",
     "property/test_charged_by_enumeration.py unit/test_plans.py"),
    ("release/rounds_analysis.py", "round_up(schedule.held * sum(", "round_up(sum(",
     "property/test_charged_by_enumeration.py"),
    ("release/rounds_analysis.py", "min(1.0, 2 * self.disclosure)", "self.disclosure",
     "property/test_charged_by_enumeration.py"),
    ("release/rounds_analysis.py", "root_above(2 * Fraction(self.mu) ** 2)", "root_above(Fraction(self.mu) ** 2)",
     "property/test_charged_by_enumeration.py"),
    ("release/analysis.py", "sum_up(losses) * neighbours.users_changed", "sum_up(losses)",
     "property/test_charged_by_enumeration.py property/test_release_accounting.py"),
    ("release/analysis.py", "return contribution.total * loss(1)", "return loss(1)",
     "property/test_zealous_guarantee.py property/test_release_accounting.py"),
    ("release/analysis.py", "Spread(part.contribution.total, part.scale, part.least - part.minimum)",
     "Spread(part.contribution.total, part.scale, part.least)",
     "property/test_click_guarantee.py property/test_charged_by_enumeration.py property/test_attainable.py"),
    ("release/analysis.py", "else part.minimum\n\n\ndef _selected", "else 1\n\n\ndef _selected",
     "property/test_click_guarantee.py property/test_charged_by_enumeration.py"),
    ("release/analysis.py", "part.contribution.total * neighbours.users_changed, step", "part.contribution.total, step",
     "property/test_charged_by_enumeration.py property/test_release_accounting.py"),
    ("release/analysis.py", "appearing = moved / noise - math.log(part.chance)", "appearing = moved / noise",
     "property/test_click_guarantee.py property/test_charged_by_enumeration.py"),
    ("release/thresholds.py", "return max(records * loss(1), full * loss(cap) + remaining)",
     "return full * loss(cap) + remaining", "property/test_attainable.py property/test_click_guarantee.py"),
    ("release/thresholds.py", "2 * (p - g)), max(1, p - g))", "2 * (p - g)), 1)",
     "property/test_attainable.py property/test_click_guarantee.py"),
    ("release/thresholds.py", "known[times] = max(sessions * apart, alike)", "known[times] = sessions * apart",
     "property/test_session_guarantee.py property/test_attainable.py"),
    ("release/contribution.py", "ranked.place < limit", "ranked.place <= limit", "property/test_release_sensitivity.py"),
    ("release/preparation.py", "plainly_harmless(log) if self.scrub else log\n", "log\n",
     "property/test_scrubbing_by_record.py"),
    ("release/clipping.py", "int((weights**2).sum()) // max(1, weights.size)", "int((weights**2).max(initial=1))",
     "unit/test_clipped_counts.py unit/test_adaptive_rounds.py"),
    ("release/public_sets.py", "LARGEST_SHARE = 0.5", "LARGEST_SHARE = 1.0", "contract/test_domain_of_log.py"),
    ("release/publication.py", '_refuse_showing(total.delta, users, "all', 'may_show(total.delta, users); str("all',
     "contract/test_release_exit_codes.py"),
    ("release/verify.py", "and adds_up and within", "and within", "property/test_forged_releases.py"),
    ("release/verify.py", "and holds_this and", "and", "property/test_forged_releases.py"),
    ("privacy/accounting/composition.py", "order * float(parts.mu_square) / 2", "float(parts.mu_square) / 2",
     "property/test_composition.py unit/test_loss.py"),
    ("privacy/accounting/composition.py", "return cls(best, max(0.0, _limit(epsilon, delta, best)), delta / 2)",
     "return cls(best, max(0.0, _limit(epsilon, delta, best)), delta)", "unit/test_loss.py"),
    ("privacy/accounting/composition.py", "_SLACK_ACCOUNT = Fraction(1, 10**12)", "_SLACK_ACCOUNT = Fraction(1, 100)",
     "property/test_composition.py unit/test_ledger.py"),
    ("privacy/accounting/composition.py", "event.counts * Fraction(event.chance)", "Fraction(event.chance)",
     "property/test_charged_by_enumeration.py"),
    ("privacy/accounting/composition.py", "Fraction(event.disclosure) / (1 - Fraction(at_zero))", "Fraction(event.disclosure)",
     "property/test_charged_by_enumeration.py"),
    ("privacy/accounting/events.py", "sum_up(promise.delta for promise in promises)",
     "max(promise.delta for promise in promises)", "unit/test_loss.py"),
    ("privacy/accounting/loss.py", "upper.append(round_up(high**j * inner / (1 + low)))",
     "upper.append(float(low**j * inner / (1 + high)))", "unit/test_loss.py property/test_dp_accounting.py"),
    ("privacy/accounting/loss.py", "np.ceil(loss.losses() / float(unit)", "np.floor(loss.losses() / float(unit)",
     "unit/test_loss.py property/test_composition.py property/test_dp_accounting.py"),
    ("privacy/accounting/loss.py", "for j in range(0, counts + 1, step):", "for j in range(0, 1):",
     "unit/test_loss.py property/test_stated_loss.py property/test_zealous_guarantee.py"),
    ("privacy/guarantee.py", "self.epsilon - math.log1p(-1 / TENFOLD)", "self.epsilon",
     "property/test_stated_loss.py unit/test_release_beliefs.py"),
    ("privacy/guarantee.py", "growth = 1 + math.exp(min(self.epsilon, 700.0))", "growth = 2.0",
     "property/test_composition.py unit/test_release_beliefs.py property/test_four_kinds.py"),
    ("privacy/ledger/entries.py", "if not account.within_budget():", "if False:", "unit/test_ledger.py property/test_ledger_machine.py"),
    ("privacy/ledger/journal.py", 'if record.get("previous") != previous:', "if False:", "unit/test_ledger.py unit/test_torn_ledger.py"),
    ("privacy/ledger/register.py", "if chain.holds(known.head):", "if True:", "unit/test_data_set_register.py"),
    ("privacy/ledger/data_set.py", "found or (self._older is", "found or (None is", "unit/test_data_set_register.py"),
    ("privacy/ledger/data_set.py", "if self._older and any(", "if [] and any(", "unit/test_data_set_register.py"),
    ("privacy/ledger/register.py", " WHERE excluded.entries >= ledgers.entries", "", "unit/test_data_set_register.py"),
    ("release/series/folder.py", " or self.entry.mark != self.kept.mark", "", "contract/test_series_weeks.py"),
    ("release/series/course.py", "for _ in range(self.carried):", "for _ in range(self.carried - 1):", "unit/test_series_course.py"),
    ("release/series/course.py", "free[known[places[np.append(looked_up, -1)[places] == mine]]] = False", "pass",
     "unit/test_series_course.py"),
    ("release/series/course.py", "places[np.append(looked_up, -1)[places] == mine]", "places[places < known.size]",
     "unit/test_series_course.py"),
    ("release/series/course.py", "self.joined > self.week - tally.every", "self.joined > self.week", "unit/test_series_course.py"),
    ("release/series/course.py", "asked = each_once(np.append(asked, ", "asked = np.sort(np.append(asked, ",
     "unit/test_series_course.py"),
    ("release/series/course.py", "            pairs.sort()", "            pass", "unit/test_series_course.py"),
    ("release/series/course.py", "np.where(ages < own >> 22, own >> 11 & 2047, 0)", "own >> 11 & 2047", "unit/test_series_course.py"),
    ("release/series/folder.py", 'said[-1] == "issued" or ', "", "contract/test_series_weeks.py"),
    ("release/series/folder.py", "while course.step < self.entry.step:", "if True:", "contract/test_series_weeks.py"),
    ("release/series/state.py", "open_at[mine[last[mine >> _SHIFT] != own] >> _SHIFT] = True", "pass", "unit/test_series_course.py"),
    ("release/series/state.py", "numbers[at[same]] = places[same]", "numbers[at] = places", "unit/test_series_course.py"),
    ("release/series/state.py", "known[slots[theirs] != known]", "known[:0]", "unit/test_series_course.py"),
    ("release/series/state.py", "value_set=known.filter(pa.array(alike)))", "value_set=known.filter(pa.array(alike))[:1])",
     "unit/test_series_course.py"),
    ("release/series/state.py", "words[np.maximum(ends - 8, starts)] & own", "words[np.maximum(ends - 8, starts)]",
     "unit/test_series_course.py"),
    ("release/series/state.py", "if name == \"standings\" or not same or", "if name == \"standings\" or", "contract/test_series_weeks.py"),
    ("release/series/state.py", "if name == \"standings\" or not same or", "if not same or", "contract/test_series_weeks.py"),
    ("release/series/state.py", "bytes.fromhex(salt))", "None)", "contract/test_series_weeks.py"),
    ("release/weights.py", "amounts //= np.maximum(squares, 1)", "amounts //= np.maximum(squares - 1, 1)", "unit/test_weights_of_users.py"),
    ("release/weights.py", "    balances -= spent", "    balances -= spent // 2", "unit/test_weights_of_users.py"),
    ("release/execution.py", "found[rest] = values[np.searchsorted(cuts, numbers[rest], side=\"right\")]",
     "found[rest] = values[first[0]]", "unit/test_series_course.py"),
    ("release/execution.py", "partial(discrete_gaussian, sigma, present.size, source)", "partial(discrete_gaussian, sigma, 1, source)",
     "property/test_noisy_numbers_alone.py"),
    ("privacy/accounting/events.py", "sum_up([lattice_delta(self.epsilon, self.mu), self.disclosure])",
     "max(lattice_delta(self.epsilon, self.mu), self.disclosure)", "property/test_charged_by_enumeration.py"),
    ("searchlog/readers/delimited.py", "named or any(map(_in_question, others)):", "named:", "unit/test_no_wrong_log.py"),
    ("privacy/noise/samplers.py", "np.flatnonzero((value == 0) & (minus == 1))", "np.flatnonzero(value < 0)",
     "statistical/test_noise_distribution.py unit/test_noise_exactness.py"),
    ("privacy/noise/samplers.py", "left = left[drawn[left] > most]", "left = left[drawn[left] > most + 1]",
     "unit/test_capped_noise.py"),
    ("privacy/noise/randomness.py", "return os.urandom(n_bytes)", "return bytes(n_bytes)", "unit/test_randomness.py"),
    # the search page: who may use it, what leaves, what is shown
    ("web/site/application.py", 'samesite="strict", path=f"{place}/"', 'samesite="strict"', "contract/test_page_admission.py"),
    ("web/site/door.py", "if not inside:  #", "if not inside and site is None:  #", "contract/test_page_admission.py"),
    ("web/site/door.py", "if name.strip() == self._admission.cookie]", "if name.strip() == self._admission.cookie][:1]",
     "contract/test_page_admission.py"),
    ("web/site/door.py", "if len(hosts) != 1 or hosts[0] not in self._hosts:", "if not hosts:", "contract/test_page_admission.py"),
    ("web/site/door.py", '"Referrer-Policy": "same-origin"', '"Referrer-Policy": "unsafe-url"', "contract/test_page_admission.py"),
    ("web/site/door.py", '    "X-DNS-Prefetch-Control": "off",\n', "", "contract/test_page_admission.py"),
    ("web/search.py", "reason=self._reason(rank, was[one.address]", "reason=self._reason(was[one.address], rank",
     "contract/test_page_to_keep.py"),
    ("web/search.py", "if rank < was and any(alike):", "if rank < was:", "contract/test_page_to_keep.py"),
    ("web/search.py", "if page.arranged == self._arrangements:", "if page.arranged >= 0:", "contract/test_page_to_keep.py"),
    ("web/site/results.py", "            self._site.service.rearrange()\n", "", "contract/test_page_to_keep.py"),
    ("web/engines/catalogue.py", "taken.get(name, engine.address) == engine.address", "True", "contract/test_page_to_keep.py"),
    ("web/engines/catalogue.py", "told = host if parts.port is None else f", "told = host or f", "contract/test_page_to_keep.py"),
    ("web/engines/interface.py", '"Accept-Language": "*", ', "", "unit/test_engine_connections.py unit/test_engine_descriptions.py"),
    ("web/engines/client.py", "                await sending.record(pending)\n", "",
     "contract/test_sent_bytes.py unit/test_engine_connections.py"),
    ("web/state.py", "'FULL' if synced", "'NORMAL' if synced", "contract/test_sent_bytes.py"),
    ("web/site/data.py", "text = text.replace(secret, LEFT_OUT)", "del secret", "contract/test_page_to_keep.py"),
    ("web/site/data.py", "found |= {str(value) for value in headers.values()}", "found |= set()", "contract/test_page_to_keep.py"),
    ("web/addresses.py", 'scripts - {"LATIN", "CJK", "HANGUL"} and', "False and", "contract/test_page_to_keep.py"),
    ("web/addresses.py", "return len(scripts) == 1 or any(scripts <= together for together in _TOGETHER)", "return True",
     "contract/test_page_to_keep.py"),
    ("web/rules.py", "not handed_on or name not in _SEARXNG_HAS", "not handed_on", "contract/test_page_to_keep.py"),
    ("web/engines/client.py", "old.hostname != new.hostname or not (same or upgraded)", "not (same or upgraded)",
     "contract/test_hostile_engines.py unit/test_engine_connections.py"),
    ("web/pictures.py", 'picture.startswith("data:") or _with_engine(picture, engine)', "picture", "contract/test_hostile_pictures.py"),
    ("web/state.py", "enabled=engine.kind == EMBEDDED", "enabled=True", "contract/test_page_choices.py"),
    ("groups/bundles.py", "len(people) - FAKES\n    may", "len(people)\n    may",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "real = len(people) - fakes", "real = len(people)",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "[t for t in ranked if t in held][:MOST_TERMS]", "[t for t in ranked if t in held]",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "theirs = len(kept) - fakes * MOST_TERMS // criterion.fewest_in_group", "theirs = len(kept)",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "fakes * MOST_TERMS // criterion.fewest_in_group", "max(0, fakes * MOST_TERMS // criterion.fewest_in_group - 1)",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "theirs <= 0 or any(len(held & kept.keys()) / theirs > criterion.p for held in people)", "theirs <= 0",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "max(criterion.fewest_holders, FAKES + 2)", "max(criterion.fewest_holders, FAKES + 1)",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "n >= criterion.fewest_in_group)", "n >= criterion.fewest_in_group - 1)",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "hashlib.blake2b(user.encode(), key=key).digest()", "user",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "secrets.token_bytes(32)", "bytes(32)",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "if len(waiting) < POOL:", "if len(waiting) < BATCH:",
     "property/test_group_batches.py"),
    ("groups/bundles.py", "FAKES if shown.group >= MOST_USERS else 0", "0",
     "property/test_group_batches.py"),
    ("groups/store.py", "UPDATE user SET team = NULL WHERE team = ?", "UPDATE user SET team = -1 WHERE team = ?",
     "property/test_group_batches.py"),
    ("groups/store.py", 'self.set_meta("next batch", number + 1)', "pass",
     "property/test_group_batches.py"),
)  # fmt: skip


def stale() -> list[str]:
    """The entries whose line no longer stands in the source, once, or whose tests are gone."""
    source = ROOT / "src" / "tacit"
    return [
        f"{place} {where}: {stands!r}"
        for place, (where, stands, _, tests) in enumerate(WEAKENED)
        if (source / where).read_text("utf-8").count(stands) != 1
        or not all((ROOT / "tests" / test).is_file() for test in tests.split())
    ]


def weakened(copy: Path, place: int) -> str:
    """Run the tests against one weaker line; the name of the test that saw it, or nothing."""
    where, stands, weaker, tests = WEAKENED[place]
    file = copy / "src" / "tacit" / where
    text = file.read_text("utf-8")
    file.write_text(text.replace(stands, weaker), "utf-8")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-x",
        "-n0",
        *(f"tests/{test}" for test in tests.split()),
    ]
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONHASHSEED": "0"}
    try:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    finally:
        file.write_text(text, "utf-8")
    found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return found[1] if found else ""


def main() -> None:
    chosen = [int(each) for each in sys.argv[1:]] or range(len(WEAKENED))
    survivors = []
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch)
        for part in ("src", "tests", "docs", "benchmarks"):
            shutil.copytree(ROOT / part, copy / part)
        shutil.copy(ROOT / "pyproject.toml", copy)
        for place in chosen:
            where, _, weaker, _ = WEAKENED[place]
            seen = weakened(copy, place)
            survivors += [] if seen else [place]
            print(f"{place:3} {where}: {' '.join(weaker.split())[:60]}: {seen or 'SURVIVED'}", flush=True)
    if survivors:
        raise SystemExit(f"{len(survivors)} of {len(chosen)} survived: {survivors}")


if __name__ == "__main__":
    main()
