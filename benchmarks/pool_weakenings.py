"""Weaken the pool's protocol, channel and servers one line at a time, and see which test notices.

Claim: each weakening below is caught by a named test. The first ten are those that the protocol's design was
attacked with. Each runs only the tests that could see it, in a process that is forked after what all tests
import was imported.

Run: ``python benchmarks/pool_weakenings.py [--only WORD]`` (a few minutes; it works on a copy).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import pytest

HOME = Path(__file__).parent.parent
RULE = "unit/test_pool_counting property/test_pool_tree property/test_pool_rule"
TOKENS, PARTIES, JOIN = "golden/test_token_vectors", "contract/test_pool_parties", "contract/test_pool_join"
PROOF, OBSERVER = "contract/test_pool_proof", "contract/test_pool_observer"
COUNTING, GATEWAY, TREE = (f"src/tacit/pool/protocol/{name}.py" for name in ("counting", "gateway", "tree"))
SHARED = "numpy pyarrow.parquet httpx starlette.applications uvicorn cryptography pyhpke typer rich redis"
"""What tests import besides what is weakened: imported once."""

ENTER = "self._periods[held.period].enter(held.token, path, item.node, answer.time)"
# ruff: noqa: E501
PROTOCOL: list[tuple[str, str, str, str]] = [
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
    ("the gateway ignores deadlines", GATEWAY, "if not time <= deadline <= time + self._furthest:", "if False:"),
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
    ("any deadline is taken", GATEWAY, "<= deadline <= time + self._furthest", "<= deadline"),
    ("unreadable items are logged", GATEWAY, "if unreadable:", "if False:"),
    ("a new session does not make the pool forget", COUNTING,
     "                period.under.clear()\n                period.inside.clear()\n", "                pass\n"),
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
    ("tokens of the last period are taken", COUNTING, "if period != self.period or", "if period < self.period - 1 or"),
    ("a period's number may come again", COUNTING, "if number <= self.period:", "if number < self.period:"),
    ("the next period is the clock's", COUNTING, "return max(last + 1, int(now // length))",
     "return int(now // length)"),
    ("who gave up is sent", COUNTING, "        if not held.batch:\n            self._end(ticket)",
     "        held.seen = inf"),
    ("who left on the way is sent again", COUNTING, "            elif held.seen == NEVER:", "            elif False:"),
    ("a late word brings a client back", COUNTING, "if held is not None and held.seen != NEVER:",
     "if held is not None:"),
    ("the unheard are sent in sets", COUNTING,
     "waiting = {ticket: held for ticket, held in self._held.items() if held.seen >= now - self.rules.alive}",
     "waiting = dict(self._held)"),
    ("the unheard are sent alone", COUNTING, "        if held.seen < now - self.rules.alive:\n            return ()", "        if False:\n            return ()"),
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
    ("a set has the best deadline of its members", COUNTING, "node, min(times.values()), self.period",
     "node, max(times.values()), self.period"),
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
    ("the busiest period is the last", COUNTING, "self.busiest |= ", "self.busiest = "),
    ("small leaves are not merged", TREE, "whole[half] and numbers[half] < least", "False"),
    ("any tree follows any other", TREE, "if one and two and one != two:", "if False:"),
    ("a small leaf passes the check", TREE, "if fewest < share * len(records):", "if False:"),
    ("a record lies in the wrong half", TREE, "upper = records[here, cut[0]] > cut[1]", "upper = records[here, cut[0]] >= cut[1]"),
    ("a tree of another template is read", TREE, 'if given.get("template") != template.digest:', "if False:"),
    ("leaves are made for k, without headroom", TREE, "return math.ceil(k + 2.2 * math.sqrt(k))", "return k"),
]  # fmt: skip


POOL = "src/tacit/pool/"
CHANNEL: list[tuple[str, str, str, str, str]] = [
    ("blinding by a factor that the issuer knows", POOL + "channel/tokens.py", "    factor = int.from_bytes", "    factor = 3 or int.from_bytes", TOKENS),
    ("a lost answer of the issuer loses the tokens", POOL + "agent.py", 'memory.drawn(at, " blinding")', "secrets.token_bytes(32)", JOIN),
    ("the signer blinds by a fixed number", POOL + "channel/tokens.py", "mine = secrets.randbelow(n - 2) + 2", "mine = 3", TOKENS),
    ("a fault while signing is given out", POOL + "channel/tokens.py", "if pow(power, e, n) != number:", "if False:", TOKENS),
    ("a token is good for any challenge", POOL + "channel/tokens.py", "return message == token_input(key, asked, token[NONCE]) and",
     "return", TOKENS),
    ("queries leave at once", POOL + "agent.py", "await asyncio.sleep(_RANDOM.uniform(0, self.delay))", "pass", PARTIES),
    ("texts are not padded", POOL + "agent.py", "request.to_bytes(oblivious.QUERY_SIZE)", "request.to_bytes()", PARTIES),
    ("requests are not padded", POOL + "channel/oblivious.py", "sealed = seal_request(key, request.to_bytes(size))",
     "sealed = seal_request(key, request.to_bytes())", PARTIES),
    ("replies are not padded", POOL + "server/front.py", ".to_bytes(self.sizes[1])", ".to_bytes()", PARTIES),
    ("the client's header fields are sealed through", POOL + "channel/oblivious.py", 'fields = json.dumps(said).encode(), ((b"content-type", b"application/json"),)',
     'fields = json.dumps(said).encode(), tuple((n.encode(), v.encode()) for n, v in http.headers.items() if n != "connection")', PARTIES),
    ("the relay says who asks", POOL + "server/relay.py", '"user-agent": "tacit-relay"}', '"x-real-ip": request.client.host}', PARTIES),
    ("everybody gets keys fetched for them", POOL + "server/relay.py", "return path.exists() and abs(time.time() - path.stat().st_mtime) < KEPT",
     "return False", PARTIES),
    ("one hanging party keeps everybody from keys", POOL + "server/relay.py", "{party: asyncio.Lock() for party in self._addresses}",
     "dict.fromkeys(self._addresses, asyncio.Lock())", PARTIES),
    ("sealed requests are opened again", POOL + "server/front.py", "if not await self.keys.first_time(body[0], digest_of(opened)):", "if False:", PARTIES),
    ("what is no base64 is taken in", POOL + "server/front.py", "base64.b64decode(value, validate=True)", "pass", PARTIES),
    ("one bad item ends a batch", POOL + "server/gateway.py", "except (InputError, ValueError):\n                unread", "except InputError:\n                unread", PARTIES),
    ("anybody sends batches", POOL + "server/gateway.py", 'if not is_signed(self.join.identities["pool"], body, request.headers.get("tacit-signature")):',
     "if False:", PARTIES),
    ("a text is logged in two batches", POOL + "server/gateway.py", "[*unreadable, *repeated]", "[*unreadable]", PARTIES),
    ("a device says its region itself", POOL + "server/gateway.py", 'asked["person"] = person', 'asked.setdefault("person", person)', PARTIES),
    ("a person who comes back is another one", POOL + "agent.py", 'f"{self._secret_of(period)}{what} {period}"', 'f"{secrets.token_hex(8)}{what} {period}"', PARTIES),
    ("pages of other sites may ask", POOL + "agent.py", "    if not own or origin not in", "    if False and origin not in", PARTIES),
    ("who leaves does not take the query back", POOL + "agent.py", 'if said.get("state") == "held":\n                with', "if False:\n                with", PARTIES),
    ("what too few share is sent directly", POOL + "agent.py", 'if self.otherwise == "direct":', "if self.join.direct is not None:", PARTIES),
    ("a period lasts until the clock is right", POOL + "server/pool.py", "self._ends = min((number + 1) * rules.period, now + rules.period)",
     "self._ends = (number + 1) * rules.period", PARTIES),
    ("the period is not on disk", POOL + "server/pool.py", 'last = int(self._mark.read_text()) if self._mark.exists() else 0', "last = 0", PARTIES),
    ("a doubted memory is kept", POOL + "server/pool.py", "self._counter, self._doubted = None, False", "self._doubted = False", PARTIES),
    ("a failing store leaves a batch in limbo", POOL + "server/pool.py", "self._doubted = True  #", "pass  #", PARTIES),
    ("strangers' tickets are kept", POOL + "server/pool.py", 'if await self.store.settled(given["ticket"]) is not None:\n', "if True:\n", PARTIES),
    ("tokens are not checked", POOL + "server/pool.py", "if key is None or not tokens.token_holds(key, token_challenge(self.join, period), token):",
     "if key is None:", JOIN),
    ("an account gets tokens again", POOL + "server/issuer.py", "return bool(row[0] == digest)", "return True", JOIN),
    ("signatures are not checked", POOL + "channel/join.py", "if not is_signed(public, _canonical(content)", "if False and is_signed(public, _canonical(content)", f"{JOIN} {PARTIES}"),
    ("keys of another pool are taken", POOL + "channel/join.py", 'found.join != join.digest', "False", f"{PARTIES} {JOIN}"),
    ("a device takes an earlier period", POOL + "agent.py", "if period < self.period:", "if False:", JOIN),
    ("a device takes a second key of a period", POOL + "agent.py", "if any(self.keys.get(at, digest) != digest for at, digest in digests.items()):", "if False:", JOIN),
    ("a device takes a smaller k", POOL + "agent.py", "if rules.k < least:", "if False:", JOIN),
    ("a device takes a longer window", POOL + "agent.py", "if rules.window > longest:", "if False:", JOIN),
    ("a device takes a tree that was cut anew", POOL + "agent.py", "(seen is None,", "(False,", JOIN),
    ("a device takes a pool whose issuer is gone", POOL + "agent.py", 'before["issuer"] > now["issuer"]', "False", JOIN),
    ("a device takes tokens that last longer", POOL + "agent.py", 'before["lasts"] < now["lasts"] and window is None', "False", JOIN),
    ("a period need not end", POOL + "agent.py", "if time.monotonic() - self.memory.since >", "if 0 >", JOIN),
    ("a device shows the token of the last period", POOL + "agent.py", '        period = (await self.standing())["period"]\n        if period is None:\n            await',
     '        period = self.memory.period if self.memory.period >= 0 else (await self.standing())["period"]\n        if period is None:\n            await', OBSERVER),
    ("a pool of millions may have small leaves", POOL + "channel/join.py", "self.rules.k / min(self.people, len(records))", "self.rules.k / self.people", JOIN),
    ("a device takes a tree with small leaves", POOL + "agent.py", "self.join.check_leaves()", "pass", JOIN),
    ("a device forgets merged cuts", POOL + "agent.py", "found.tree.united(join.tree)", "join.tree", JOIN),
    ("a proof counts vouchers, not keys", POOL + "channel/proof.py", "        each.key\n        for each", "        each\n        for each", PROOF),
    ("a proof with k - 1 keys", POOL + "channel/proof.py", "return len(people) >= join.rules.k", "return len(people) >= join.rules.k - 1", PROOF),
    ("a proof of any slot", POOL + "channel/proof.py", "if each.slot in recent\n        and", "if", PROOF),
    ("a proof of an older slot", POOL + "channel/proof.py", "slots(now, join.rules.window, 2)", "slots(now, join.rules.window, 4)", PROOF),
    ("a proof without tokens", POOL + "channel/proof.py", "        and token_holds(", "        or token_holds(", PROOF),
    ("a voucher's signature is not checked", POOL + "channel/proof.py", "return is_signed(self.key.hex(), _statement(join, self.slot, chain), self.signature.hex())",
     "return True", PROOF),
    ("a voucher is for any pool", POOL + "channel/proof.py", "asked {join.digest} {slot}", "asked {slot}", PROOF),
    ("a voucher is for any slot", POOL + "channel/proof.py", "asked {join.digest} {slot}", "asked {join.digest}", PROOF),
    ("a voucher has no salt", POOL + "channel/proof.py", "secrets.token_bytes(32)", "bytes(32)", PROOF),
    ("a voucher shows its leaf's salt", POOL + "channel/proof.py", "return replace(self, below=_climbed(self.below, path[: path.index(node)]))", "return self", PROOF),
    ("a voucher of another key is taken", POOL + "server/pool.py", "own = token[tokens.NONCE] == key_digest(found.key)", "own = True", PROOF),
    ("a voucher for another leaf is taken", POOL + "server/pool.py", "and found.holds(self.join, leaf)", "", PROOF),
    ("a voucher of any time is taken", POOL + "server/pool.py", "if found.slot in present else None", "", PROOF),
    ("who is held does not sign again", POOL + "agent.py", "if self.join.proof and self._slot() != slot:", "if False:", PROOF),
    ("what was not proved is answered", POOL + "agent.py", "if not proved:", "if False:", PROOF),
    ("vouchers stand in the order of asking", POOL + "server/pool.py", "sorted((known[each] for each in batch.people if each in known), key=lambda at: at[1].key)", "[known[each] for each in batch.people if each in known]", PROOF),
    ("a device can draw the keys of its past", POOL + "agent.py", "self.secret, self.at = self._secret_of(period), max(self.at, period)", "pass", PROOF),
    ("a refused proof hides that the query was sent", POOL + "agent.py", "except (TacitError, KeyError, TypeError", "except (InputError, KeyError, TypeError", PROOF),
    ("an engine says that a direct query is shared", POOL + "agent.py", '{**found, "status": answer.status_code, **said}', '{**said, **found, "guarded": False, "person": {}}', PARTIES),
    ("a device forgets that proof was promised", POOL + "agent.py", "before[\"proof\"] > now[\"proof\"]", "False", PROOF),
    ("an engine says that k are proved", POOL + "agent.py", 'answer | {"proved": self.join.proof and await self._proved(said.get("proof"))}', '{"proved": self.join.proof and await self._proved(said.get("proof"))} | answer', PARTIES),
    ("a direct query has topics", POOL + "agent.py", '{"query": query} | ({"count": count} if count else {})', '{"query": query} | more', PARTIES),
    ("a slow engine costs a batch its answers", POOL + "server/gateway.py", "async with asyncio.timeout(_SECONDS), self._turn:", "async with self._turn:", PARTIES),
    ("workers of a gateway log at once", POOL + "server/gateway.py", "with self._taking:\n            repeated", "if True:\n            repeated", PARTIES),
    ("long bodies may take any memory", "src/tacit/bodies.py", " or sum(_READING.values()) > _BYTES_AT_A_TIME", "", "unit/test_bodies"),
    ("a proof without an issuer", POOL + "channel/join.py", 'if flag("proof", self.proof) and self.issuer is None:', "if False:", PROOF),
    ("an answer's region is not checked", POOL + "agent.py", "if node not in self.join.tree.paths[self.leaf]:", "if False:", PARTIES),
    ("a pool may promise less while it runs", POOL + "agent.py", 'if said.get("k") != rules.k or said.get("window") != rules.window or said.get("tree") != tree.digest:', "if False:", PARTIES),
    ("a batch names any node", POOL + "server/gateway.py", "if not all(0 <= node < len(self.join.tree) for node in nodes):", "if False:", PARTIES),
    ("a short text unpacks to any length", POOL + "server/gateway.py", "unpack.decompress(packed, 64 * oblivious.QUERY_SIZE)", "unpack.decompress(packed)", PARTIES),
    ("redirects are followed", POOL + "channel/oblivious.py", "follow_redirects=False", "follow_redirects=True", PARTIES),
    ("clients take proxies of their surroundings", POOL + "channel/oblivious.py", "trust_env=False", "trust_env=True", PARTIES),
    ("a join file may have any parts", POOL + "channel/join.py", "if found.content != content:", "if False:", JOIN),
    ("a second worker makes another key of a period", POOL + "server/issuer.py", '"INSERT OR IGNORE INTO keys', '"INSERT OR REPLACE INTO keys', JOIN),
    ("leaves of k people a day stay", POOL + "server/pool.py", "tree=join.tree.merged(people, 2 * join.rules.k)", "tree=join.tree.merged(people, join.rules.k)", JOIN),
    ("the simulation judges for k - 1", POOL + "simulation/traffic.py", "breaches=verify_log(log, setting.k, setting.window)", "breaches=verify_log(log, setting.k - 1, setting.window)", "unit/test_pool_simulation"),
    ("a batch names the oldest people", COUNTING, "in reversed(self._periods[period].inside[node].order))", "in self._periods[period].inside[node].order)", RULE),
    ("a batch names people twice", COUNTING, "(each for each in others if each not in mates)", "others", RULE),
    ("a batch names people of the other period", COUNTING, "return self._send([ticket], node, found, number, now)", "return self._send([ticket], node, found, self.period, now)", RULE),
]  # fmt: skip
WEAKENINGS = [(*each, RULE) for each in PROTOCOL] + CHANNEL


def caught_by(copy: Path, tests: str) -> str:
    """The first of the tests that fails on the copy; empty if none does."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        said, named = io.StringIO(), "the tests did not run"
        with contextlib.suppress(BaseException), contextlib.redirect_stdout(said):
            os.chdir(copy)
            sys.path[:0] = [str(copy / "src"), str(copy)]
            files = [f"tests/{name}.py" for name in tests.split()]
            quiet = ["-q", "-x", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
            ended = pytest.main([*quiet, *files])
            found = re.search(r"^(?:FAILED|ERROR) \S*?::?(\w+)", said.getvalue(), re.MULTILINE)
            named = (found.group(1) if found else said.getvalue()[-200:]) if ended else ""
        os.write(writing, named.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        answer = told.read().decode()
    os.waitpid(child, 0)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="weakenings whose name has this in it")
    only = parser.parse_args().only
    chosen = [each for each in WEAKENINGS if only in each[0]]
    caught = 0
    sys.dont_write_bytecode = True  # a line may change and change back within one second
    for name in SHARED.split():
        importlib.import_module(name)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in ("src", "tests"):
            shutil.copytree(HOME / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(HOME / "pyproject.toml", copy)
        for tests in sorted({each[4] for each in chosen}):
            assert caught_by(copy, tests) == "", f"a test of {tests} fails before anything is weakened"
        for number, (name, file, old, new, tests) in enumerate(chosen, 1):
            path = copy / file
            text = path.read_text()
            assert text.count(old) == 1, f"{name}: its line occurs {text.count(old)} times"
            path.write_text(text.replace(old, new))
            test = caught_by(copy, tests)
            path.write_text(text)
            caught += bool(test)
            print(f"{number:>3} {name:<52} {test or 'NOT CAUGHT'}", flush=True)
    print(f"{caught} of {len(chosen)} caught")


if __name__ == "__main__":
    main()
