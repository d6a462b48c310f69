"""Weaken the pool's protocol one line at a time, and see which test notices.

Claim: each weakening below is caught by a named test of the protocol (``tests/unit/test_pool_counting``,
``tests/property/test_pool_rule`` and ``test_pool_tree``). The first ten are those that the protocol's design
was attacked with.

Run: ``python benchmarks/pool_weakenings.py [--only WORD]`` (about ten minutes; it works on a copy).
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HOME = Path(__file__).parent.parent
TESTS = tuple(
    f"tests/{name}.py"
    for name in ("unit/test_pool_counting", "property/test_pool_tree", "property/test_pool_rule")
)
COUNTING, GATEWAY, TREE = (f"src/tacit/pool/protocol/{name}.py" for name in ("counting", "gateway", "tree"))

ENTER = "self._periods[held.period].enter(held.token, path, item.node, answer.time)"
# ruff: noqa: E501
WEAKENINGS: list[tuple[str, str, str, str]] = [
    ("held queries are counted", COUNTING, "mates = (held.token,) if number",
     "mates = tuple({each.token for each in self._held.values()}) if number"),
    ("people of both periods are added", COUNTING, ENTER,
     "[each.enter(held.token, path, item.node, answer.time) for each in self._periods.values()]"),
    ("the deadline ignores what was counted", COUNTING, "deadline = min(oldest, self._now(now))",
     "deadline = self._now(now)"),
    ("what is on its way is counted", COUNTING, "self._batches[number] = items\n",
     "self._batches[number] = items\n        [self._periods[self._tickets[i.ticket].period].enter("
     "self._tickets[i.ticket].token, self.tree.paths[self._tickets[i.ticket].leaf], i.node, self._now(now)) "
     "for i in items]\n"),
    ("a batch that was not logged is counted", COUNTING, "if isinstance(answer, Logged):\n            for",
     "if answer.session:\n            for"),
    ("k - 1 are enough", COUNTING, "need = self.rules.k - len(mates)", "need = self.rules.k - 1 - len(mates)"),
    ("a longer window", COUNTING, "deadline = min(oldest, self._now(now)) + self.rules.window",
     "deadline = min(oldest, self._now(now)) + 1.3 * self.rules.window"),
    ("condition 2 is dropped", COUNTING, "second = _oldest((period.inside[node],), mates, need)", "second = inf"),
    ("old tokens stay in batches", COUNTING, "return self._refuse(list(self._held), Why.PERIOD)", "return ()"),
    ("the gateway ignores deadlines", GATEWAY, "if not time <= deadline <= time + FURTHEST:", "if False:"),
    ("the gateway's clock goes back", GATEWAY, "self._latest = max(self._latest, now)", "self._latest = now"),
    ("no new session when the clock is set back", GATEWAY, "if now < self._latest - STEP_BACK:", "if False:"),
    ("a repeat is logged again", GATEWAY, "if batch in self._logged:", "if False:"),
    ("a repeat is answered with the present time", GATEWAY,
     "return Logged(self.session, self._logged[batch])", "return Logged(self.session, time)"),
    ("the session is not compared", GATEWAY, "if session != self.session:", "if False:"),
    ("batches are forgotten at once", GATEWAY, "and self._until[0][0] < self._latest:", "and True:"),
    ("batches are never forgotten", GATEWAY, "while self._until and", "while False and"),
    ("a failed write counts as logged", GATEWAY, "        write(time)\n        self._logged[batch] = time\n",
     "        self._logged[batch] = time\n        write(time)\n"),
    ("any deadline is taken", GATEWAY, "<= deadline <= time + FURTHEST", "<= deadline"),
    ("unreadable items are logged", GATEWAY, "if unreadable:", "if False:"),
    ("a new session does not make the pool forget", COUNTING,
     "            self._session = answer.session\n            self._lose()",
     "            self._session = answer.session"),
    ("an entry of a session that is over is counted", COUNTING,
     "if isinstance(answer, Logged) and answer.session != self._session:", "if False:"),
    ("entries are counted from the pool's time", COUNTING, "item.node, answer.time)", "item.node, now)"),
    ("entries are counted from the later time", COUNTING, "item.node, answer.time)",
     "item.node, max(answer.time, now))"),
    ("entries stand in the order of their coming", COUNTING, "insort(self.order, (time, token))",
     "self.order.append((time, token))"),
    ("a person's older entry stays", COUNTING,
     "            del self.order[bisect_left(self.order, (before, token))]\n", "            pass\n"),
    ("an older answer replaces a newer one", COUNTING, "if before >= time:", "if False:"),
    ("old entries are never dropped", COUNTING, "if order and order[0][0] < horizon:", "if False:"),
    ("who goes along is counted twice", COUNTING, "if token not in mates:", "if True:"),
    ("the newest time is taken for the oldest", COUNTING, "nlargest(need, latest.values())[-1]",
     "nlargest(need, latest.values())[0]"),
    ("one too few is enough", COUNTING, "if left < need <= len(latest):\n            bound = nlargest(need, ",
     "if left < need <= len(latest) + 1:\n            bound = nlargest(need - 1 or 1, "),
    ("a token may change its leaf", COUNTING, "or leaf_of.get(token, leaf) != leaf:", "or False:"),
    ("any leaf is taken", COUNTING, "if leaf not in self.tree.paths or", "if"),
    ("tokens of the last period are taken", COUNTING, "if period != self.period:", "if period < self.period - 1:"),
    ("a period's number may come again", COUNTING, "if number <= self.period:", "if number < self.period:"),
    ("the next period is the clock's", COUNTING, "return max(last + 1, int(now // length))",
     "return int(now // length)"),
    ("who gave up is sent", COUNTING, "        if not held.batch:\n            self._end(ticket)",
     "        held.seen = inf"),
    ("who left on the way is sent again", COUNTING, "            elif held.seen == NEVER:", "            elif False:"),
    ("a late word brings a client back", COUNTING, "if held is not None and held.seen != NEVER:",
     "if held is not None:"),
    ("the unheard are sent in sets", COUNTING,
     "waiting = {ticket: held for ticket, held in self._held.items() if held.seen >= heard}",
     "waiting = dict(self._held)"),
    ("the unheard are sent alone", COUNTING, "            if held.seen >= heard:\n                sent",
     "            if True:\n                sent"),
    ("the unheard are not told", COUNTING, "return self._refuse(gone, Why.GONE)", "return ()"),
    ("nodes are opened at k", COUNTING, "self._opened_at = headroom(rules.k)", "self._opened_at = rules.k"),
    ("nodes are never closed", COUNTING, "least = self.rules.k if node in", "least = 0 if node in"),
    ("one child is enough", COUNTING, "if self._inside(low, horizon) < least or self._inside(high, horizon) < least:",
     "if self._inside(low, horizon) < least:"),
    ("entries of other leaves are counted", COUNTING,
     "_oldest([period.under[each] for each in nodes], mates, need)",
     "_oldest([period.inside[0]], mates, need)"),
    ("only entries under the same node are counted", COUNTING, "nodes = (node, *path[:at], *path[at + 1 :])",
     "nodes = (node,)"),
    ("queries go out under other people's nodes", COUNTING,
     "chosen = {t: held for t, held in waiting.items() if node in self.tree.paths[held.leaf]}",
     "chosen = dict(waiting)"),
    ("who leaves a set stays counted", COUNTING, "if len(satisfied) == len(chosen):", "if satisfied:"),
    ("a set has the best deadline of its members", COUNTING, "node, min(times.values()), now)",
     "node, max(times.values()), now)"),
    ("items stand in the order of their coming", COUNTING, "for ticket in sorted(tickets))", "for ticket in tickets)"),
    ("any number is held", COUNTING, "len(self._tickets) >= capacity or", "False or"),
    ("a token may hold any number", COUNTING, "self._each[token] >= self.rules.each", "False"),
    ("any number of tokens", COUNTING, "known = len(leaf_of) < capacity or token in leaf_of", "known = True"),
    ("tickets of a token are never released", COUNTING, "self._each[held.token] -= 1", "self._each[held.token] -= 0"),
    ("a lost batch is forgotten with its queries", COUNTING, "return () if items is None else self._again(items, now)",
     "return ()"),
    ("an unreadable query is held again", COUNTING, "refused = self._refuse(bad, Why.UNREADABLE)", "refused = ()"),
    ("queries of an old period are held again", COUNTING, "if held.period != self.period:", "if False:"),
    ("all batches have one number", COUNTING, "number = self._draw()", 'number = "0"'),
    ("the pool trusts its own clock", COUNTING, "return now if known == NEVER else max(known, known + now - ours)",
     "return now"),
    ("the number of people is told exactly", COUNTING, "return number - number % self.rules.k", "return number"),
    ("forgetting leaves the entries", COUNTING, '        """Drop everything but the period\'s number: always safe."""\n        self._lose()',
     '        """Drop everything but the period\'s number: always safe."""'),
    ("the busiest period is the last", COUNTING, "self.busiest |= ", "self.busiest = "),
    ("small leaves are not merged", TREE, "whole[half] and numbers[half] < least", "False"),
    ("any tree follows any other", TREE, "if self.cuts[mine] != before.cuts[old]:", "if False:"),
    ("a small leaf passes the check", TREE, "if fewest < share * len(records):", "if False:"),
    ("a record lies in the wrong half", TREE, "record[cut[0]] > cut[1]", "record[cut[0]] >= cut[1]"),
    ("a tree of another template is read", TREE, 'if given.get("template") != template.digest:', "if False:"),
    ("leaves are made for k, without headroom", TREE, "return math.ceil(k + 2.2 * math.sqrt(k))", "return k"),
]  # fmt: skip


def caught_by(copy: Path) -> str:
    """The first test that fails on the copy; empty if none does."""
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *TESTS]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
    found = re.search(r"^(?:FAILED|ERROR) \S*?::?(\w+)", done.stdout, re.MULTILINE)
    if done.returncode and found is None:
        return done.stdout[-200:]
    return found.group(1) if found else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="weakenings whose name has this in it")
    only = parser.parse_args().only
    chosen = [each for each in WEAKENINGS if only in each[0]]
    caught = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("src", "tests"):
            shutil.copytree(HOME / name, copy / name)
        shutil.copy(HOME / "pyproject.toml", copy)
        assert caught_by(copy) == "", "a test fails before anything is weakened"
        for number, (name, file, old, new) in enumerate(chosen, 1):
            path = copy / file
            text = path.read_text()
            assert text.count(old) == 1, f"{name}: its line occurs {text.count(old)} times"
            path.write_text(text.replace(old, new))
            test = caught_by(copy)
            path.write_text(text)
            caught += bool(test)
            print(f"{number:>3} {name:<52} {test or 'NOT CAUGHT'}", flush=True)
    print(f"{caught} of {len(chosen)} caught")


if __name__ == "__main__":
    main()
