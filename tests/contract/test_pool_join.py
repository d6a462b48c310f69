"""The join file and what a device makes of it: signed, remembered, and refused where it promises less."""

from __future__ import annotations

import asyncio
import base64
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tests.pool_parties import SMALL, Parties, make_join, parties, present, small_tree
from typer.testing import CliRunner

from tacit import Agent, InputError, ParameterError, Pool
from tacit.commands import application
from tacit.pool.channel import tokens
from tacit.pool.channel.join import Identity, JoinFile, signed, token_challenge
from tacit.pool.channel.oblivious import RelayedError
from tacit.pool.protocol.tree import Tree
from tacit.pool.server.issuer import IssuerFile
from tacit.pool.server.pool import _Worker, merge_small_leaves
from tacit.pool.server.store import MemoryStore

RUNNER = CliRunner()
ME: dict[str, object] = {"age": 30, "place": "Redmond"}


def changed(folder: Path, **parts: Any) -> Path:
    path = folder / "changed.join"
    path.write_text(json.dumps(json.loads((folder / "pool.join").read_text()) | parts))
    return path


def test_a_join_file_is_read_as_it_was_written_and_only_if_signed(tmp_path: Path) -> None:
    join = make_join(tmp_path, issuer=True, direct="https://engine.example/search")
    assert JoinFile.read(tmp_path / "pool.join") == join
    assert JoinFile.read(tmp_path / "pool.join").digest == join.digest
    for parts in (
        {"k": 2},
        {"window": 9.0},
        {"relay": "https://evil.example"},
        {"signature": "00"},
        {"more": 1},
    ):
        with pytest.raises(InputError, match="signature of the join file is wrong"):
            JoinFile.read(changed(tmp_path, **parts))
    with pytest.raises(InputError, match="no join file of version 3"):
        JoinFile.read(changed(tmp_path, **{"tacit pool": 1}))
    (tmp_path / "x").write_text("nonsense")
    with pytest.raises(InputError, match="is not JSON"):
        JoinFile.read(tmp_path / "x")
    with pytest.raises(InputError, match="signed with the identity of its pool"):
        join.write(tmp_path / "y", Identity.kept(tmp_path / "gateway.secret"))
    with pytest.raises(ParameterError, match="relay must be an address"):
        make_join(tmp_path, relay="relay.example")
    assert oct((tmp_path / "pool.secret").stat().st_mode)[-3:] == "600"


def test_a_signed_join_file_has_all_its_parts_and_no_others(tmp_path: Path) -> None:
    """A part that this version does not know may change what is promised."""
    join, own = make_join(tmp_path), Identity.kept(tmp_path / "pool.secret")
    assert JoinFile.parse(signed(own, join.content)) == join
    for wrong in (
        {"more": 1},
        {"tree digest": "0"},
        {"k": 3.5},
        {"people": "many"},
        {"tree": None},
        {"proof": 1},
    ):
        with pytest.raises(InputError):
            JoinFile.parse(signed(own, join.content | wrong))
    for name in set(join.content) - {"tacit pool"}:
        with pytest.raises(InputError):
            JoinFile.parse(signed(own, {each: join.content[each] for each in join.content if each != name}))


def test_a_device_refuses_a_pool_that_promises_less_than_before(tmp_path: Path) -> None:
    memory, tree = tmp_path / "memory.json", small_tree(5)
    Agent(make_join(tmp_path, k=5, window=20.0, tree=tree), ME, memory=memory)
    with pytest.raises(InputError, match="promises that 3 people share a region; 5 were promised"):
        Agent(make_join(tmp_path, k=3, window=20.0, tree=tree), ME, memory=memory)
    with pytest.raises(InputError, match="ask within 30 s; 20 s were promised"):
        Agent(make_join(tmp_path, k=5, window=30.0, tree=tree), ME, memory=memory)
    with pytest.raises(InputError, match="6 were promised before or asked for"):
        Agent(make_join(tmp_path, k=5, window=20.0, tree=tree), ME, memory=memory, k=6)
    Agent(make_join(tmp_path, k=7, window=10.0, tree=tree), ME, memory=memory)
    with pytest.raises(InputError, match="7 were promised"):
        Agent(make_join(tmp_path, k=5, window=10.0, tree=tree), ME, memory=memory)
    Agent(make_join(tmp_path, k=5, window=10.0, tree=tree), ME, memory=memory, k=5)
    with pytest.raises(InputError, match="tokens last longer than before"):
        Agent(make_join(tmp_path, k=5, window=10.0, tree=tree, period=41.0), ME, memory=memory)
    Agent(make_join(tmp_path, k=5, window=30.0, tree=tree), ME, memory=memory, window=30.0)
    assert oct(memory.stat().st_mode)[-3:] == "600" and "Redmond" not in memory.read_text()


def test_a_device_refuses_a_pool_whose_issuer_is_gone(tmp_path: Path) -> None:
    account, memory = tmp_path / "me.account", tmp_path / "memory.json"
    Identity.kept(account, make=True)
    Agent(make_join(tmp_path), ME, memory=memory)
    Agent(make_join(tmp_path, issuer=True), ME, memory=memory, account=account)
    with pytest.raises(InputError, match="issuer is gone"):
        Agent(make_join(tmp_path), ME, memory=memory, account=account)


@pytest.mark.parametrize(
    "wrong", [{"patience": -1.0}, {"delay": -1.0}, {"proxy": "foo"}, {"proxy": "http://x:1"}]
)
def test_a_device_refuses_options_that_make_no_sense(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match=min(wrong)):
        Agent(make_join(tmp_path), ME, memory=tmp_path / "memory.json", **wrong)


def test_a_device_refuses_a_tree_that_was_cut_anew(tmp_path: Path) -> None:
    memory, tree = tmp_path / "memory.json", small_tree(3)
    root = Tree(tree.template, (None,))
    (attribute, last), *_ = filter(None, tree.cuts)
    other = Tree(tree.template, ((attribute, last - 1), None, None))
    for follows in (tree, root, tree):
        Agent(make_join(tmp_path, tree=follows), ME, memory=memory)
    Agent(make_join(tmp_path, tree=root), ME, memory=memory)
    with pytest.raises(InputError, match="cut anew"):  # what was shown before the merge is not forgotten
        Agent(make_join(tmp_path, tree=other), ME, memory=memory)


def test_leaves_of_too_few_people_are_merged_and_devices_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.pool.server.pool._EVERY", 0.01)
    join = make_join(tmp_path, period=600.0)
    Agent(join, ME, memory=tmp_path / "memory.json")
    noon, clock = 43_200.0, [43_200.0]
    busy, quiet = join.tree.leaves[0], join.tree.leaves[1:]

    async def drive(counted: dict[int, int]) -> None:
        store = MemoryStore()
        worker = _Worker(Pool(join, tmp_path / "pool.secret"), store, None, lambda: clock[0])
        for _ in range(2):
            await worker._step()
            period = worker._counter.period if worker._counter else 0
            for leaf, number in counted.items():
                for one in range(number):
                    await store.post(["deposit", f"{leaf} {one}", f"{leaf} {one}", period, leaf, ""])
            await worker._step()
            clock[0] += 600.0

    asyncio.run(drive({busy: 2 * join.rules.k, quiet[0]: 2 * join.rules.k - 1}))
    with pytest.raises(InputError, match="no whole day"):
        merge_small_leaves(tmp_path / "pool.join", tmp_path / "pool.secret")
    clock[0] = noon + 86_400.0
    asyncio.run(drive({}))
    made = RUNNER.invoke(application(), ["pool", "merge", str(tmp_path / "pool.join"), "--json",
                                         "--secret", str(tmp_path / "pool.secret")])  # fmt: skip
    merged = JoinFile.read(tmp_path / "pool.join")
    assert json.loads(made.stdout)["leaves"] == len(merged.tree.leaves) < len(join.tree.leaves)
    assert merged.tree == join.tree.merged({busy: 2 * join.rules.k}, 2 * join.rules.k)
    Agent(merged, ME, memory=tmp_path / "memory.json")


def test_a_device_refuses_earlier_periods_and_changed_keys(tmp_path: Path) -> None:
    agent = Agent(make_join(tmp_path), ME, memory=tmp_path / "memory.json")
    agent.memory.enter(7)  # before the issuer was asked for its keys
    agent.memory.learn_keys({7: b"seven", 8: b"eight"})
    agent.memory.enter(7)
    agent.memory.enter(7)
    again = Agent(agent.join, ME, memory=tmp_path / "memory.json").memory
    with pytest.raises(InputError, match=r"period . after"):
        again.enter(6)
    with pytest.raises(InputError, match="key of a period has changed"):
        agent.memory.learn_keys({8: b"another"})
    agent.memory.learn_keys({8: b"eight", 9: b"nine"})
    agent.memory.enter(9)
    with pytest.raises(InputError, match=r"period . after"):
        agent.memory.enter(8)


def test_a_period_that_does_not_end_is_refused(tmp_path: Path) -> None:
    """A token is good for one period, so a pool that keeps to one could link a device's queries for ever."""

    async def work() -> None:
        async with parties(tmp_path, period=3_600.0) as pool, pool.agent(1, ME) as agent:
            period = await present(agent)
            agent.memory.since -= 3_590.0
            assert await present(agent) == period
            agent.memory.since -= 1_000.0
            with pytest.raises(InputError, match="period lasts longer than the 3600 s of its join file"):
                await agent.search("tea")
            assert pool.asked == []
            agent.memory.enter(period + 1)
            assert agent.memory.since > time.monotonic() - 60.0

    asyncio.run(work())


def test_the_pool_must_say_what_its_join_file_says(tmp_path: Path) -> None:
    async def work() -> None:
        async with parties(tmp_path) as pool:
            other = make_join(tmp_path, k=9)
            async with Agent(other, ME, memory=tmp_path / "m.json", transport=pool.network("x")) as agent:
                with pytest.raises(InputError, match="serves another pool"):
                    await agent.standing()

    asyncio.run(work())


def test_a_tree_with_small_leaves_is_refused(tmp_path: Path) -> None:
    tree = small_tree(3)
    records = np.array([[age, place] for age in range(40) for place in range(4)], np.uint16)
    tree.check(records, 3 / 40)
    sliver = Tree(SMALL, ((0, 0), None, None))
    with pytest.raises(InputError, match="a leaf of the tree holds 4 of 160 public records"):
        sliver.check(records, 3 / 40)
    runner = CliRunner()
    made = runner.invoke(
        application(), ["pool", "create", str(tmp_path / "a.join"), "--people", "500", "--json"]
    )
    assert made.exit_code == 0, made.output
    join = JoinFile.read(tmp_path / "a.join")
    finest = Tree(join.template, ((0, 72), None, None))  # those above 89 alone
    (tmp_path / "me.json").write_text("{}")
    one = Tree(join.template, ((1, 5), None, None))  # the 14 who work without pay
    for tree, people in ((finest, 500), (one, 10**9)):  # whatever the pool says of its size
        lying = replace(join, tree=tree, people=people)
        lying.write(tmp_path / "b.join", Identity.kept(tmp_path / "pool.secret"), force=True)
        words = ["pool", "join", str(tmp_path / "b.join"), "--record", str(tmp_path / "me.json"), "--show"]
        refused = runner.invoke(application(), words)
        assert isinstance(refused.exception, InputError)
        assert "a leaf of the tree holds" in str(refused.exception)


def test_tokens_of_an_issuer_admit_people_once_a_period(tmp_path: Path) -> None:
    """The issuer is asked in one batch, days ahead; without its token nothing is taken in."""

    def account(number: int) -> Path:
        path = tmp_path / f"{number}.account"
        file.new_account(path)
        return path

    file = IssuerFile(tmp_path / "accounts.db")
    accounts = [account(number) for number in range(4)]

    ahead = [0.0]
    parts = {"clock": lambda: time.time() + ahead[0]}

    async def work() -> None:
        async with parties(tmp_path, issuer=True, period=3_600.0, ahead=4_000.0, parts=parts) as pool:
            records = [{"age": 30 + n, "place": "Redmond"} for n in range(3)]

            async def one(number: int) -> Any:
                async with pool.agent(number, records[number], account=accounts[number]) as agent:
                    return await agent.search("tea")

            answers = await asyncio.gather(*(one(number) for number in range(3)))
            assert [each["guarded"] for each in answers] == [True] * 3
            asked = [each for each in pool.seen["issuer.test"] if each.method == "POST"]
            assert len(asked) == 3 and {each.address for each in asked} == {"relay"}
            assert len({len(each.body) for each in asked}) == 1
            await strangers(pool)
            await twice(pool)
            for ahead[0], known in ((3e7, False), (0.0, True)):  # the pool's clock, for a moment
                async with pool.agent(8, ME, account=accounts[0]) as agent:
                    for _ in range(100):
                        if ((await agent.standing())["period"] is not None) == known:
                            break
                        await asyncio.sleep(0.1)
                    else:
                        pytest.fail("a period without tokens began" if not known else "no period began")
            answers = await asyncio.gather(*(one(number) for number in range(3)))
            assert [each["guarded"] for each in answers] == [True] * 3

    async def strangers(pool: Parties) -> None:
        with pytest.raises(ParameterError, match="admits accounts of"):
            pool.agent(9, ME)
        async with pool.agent(3, ME, account=accounts[3]) as agent:
            period = (await agent.standing())["period"]
            stranger = tokens.BlindSigner()
            begun = tokens.new_token(stranger.public, token_challenge(pool.join, period), bytes(32), b"seed")
            forged = begun.finish(tokens.sign_token(stranger, begun.request))
            for token in (bytes(354), forged, b"x" * 32):
                said = {
                    "ticket": "0" * 32,
                    "token": base64.b64encode(token).decode(),
                    "period": period,
                    "leaf": agent.leaf,
                    "sealed": "",
                }
                with pytest.raises(Exception, match="refused the request"):
                    await agent._ask("/deposit", said)

    async def twice(pool: Parties) -> None:
        """A second token of a period is not signed; the same request again is, as its answer may be lost."""
        signers = file.keys()
        period, signer = max(signers.items())
        secret = accounts[3].read_text().strip()
        requests = [tokens.new_token(signer.public, b"x", bytes(32), bytes([n])).request for n in range(2)]
        first = file.sign(secret, {period: requests[0]})
        assert file.sign(secret, {period: requests[0]}) == first and len(first) == 1
        assert file.sign(secret, {period: requests[1]}) == {}
        assert IssuerFile(tmp_path / "accounts.db").sign(secret, {period: requests[1]}) == {}, "a restart"
        assert IssuerFile(tmp_path / "accounts.db").keys()[period].public.n == signer.public.n
        with pytest.raises(InputError, match="no such account"):
            file.sign("00", {period: requests[0]})

    asyncio.run(work())


def test_tokens_whose_answer_was_lost_are_fetched_again(tmp_path: Path) -> None:
    """The issuer signs one request of an account and period, so it must be the same that is sent again."""
    file = IssuerFile(tmp_path / "accounts.db")
    file.new_account(tmp_path / "me.account")

    class Lossy(httpx.AsyncBaseTransport):
        def __init__(self, usual: httpx.AsyncBaseTransport) -> None:
            self.usual, self.lose = usual, 1

        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            answer = await self.usual.handle_async_request(request)
            if request.url.path == "/issuer" and self.lose:
                self.lose -= 1
                raise httpx.ReadTimeout("lost")
            return answer

    async def work() -> None:
        async with parties(tmp_path, issuer=True, period=3_600.0, ahead=4_000.0) as pool:
            network, given = Lossy(pool.network("10.0.0.1")), {"account": tmp_path / "me.account"}
            memory = tmp_path / "memory.json"
            first, second = (
                Agent(pool.join, ME, memory=memory, transport=network, **given) for _ in range(2)
            )  # two programs of one device
            async with first, second:
                period = await present(first)
                with pytest.raises(RelayedError):
                    await first._token(period)
                found = await first._token(period)
                assert await second._token(period) == found
            async with pool.agent(9, ME, **given) as another_device:
                with pytest.raises(InputError, match="another device, or a memory that is gone"):
                    await another_device._token(period)

    asyncio.run(work())


def test_what_stops_the_pool_is_said_once_and_by_its_kind_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("tacit.pool.server.pool._EVERY", 0.001)
    worker = _Worker(Pool(make_join(tmp_path), tmp_path / "pool.secret"), MemoryStore(), None, time.time)
    fails = iter([True] * 5 + [False] + [True] * 5)

    async def step() -> None:
        fail = next(fails, None)
        if fail is None:
            raise asyncio.CancelledError
        if fail:
            raise ValueError("coffee in Redmond")

    monkeypatch.setattr(worker, "_step", step)
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(worker.drive())
    said = [record.getMessage() for record in caplog.records]
    assert said == ["the pool forgot what it held and begins anew: ValueError"] * 2


def test_the_first_of_two_workers_makes_the_key_of_a_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second key would leave tokens behind that nobody takes, or tell people apart."""
    first, second = (IssuerFile(tmp_path / "accounts.db") for _ in range(2))
    first.prepare(5)
    made = first.keys()[5].public.n
    with monkeypatch.context() as patch:
        patch.setattr(second, "keys", dict)  # it looked before the first had written
        second.prepare(5)
    assert IssuerFile(tmp_path / "accounts.db").keys()[5].public.n == made


def test_a_leaf_stays_that_twice_k_people_used_on_one_of_two_days(tmp_path: Path) -> None:
    join = make_join(tmp_path)
    enough, leaves = 2 * join.rules.k, join.tree.leaves
    used = dict.fromkeys(map(str, leaves), enough)

    def left(before: dict[str, int], today: dict[str, int]) -> int:
        said = {"tree": join.tree.digest, "day": 1, "today": today, "before": before}
        (tmp_path / "pool.secret.leaves").write_text(json.dumps(said))
        made = merge_small_leaves(tmp_path / "pool.join", tmp_path / "pool.secret")
        join.write(tmp_path / "pool.join", Identity.kept(tmp_path / "pool.secret"), force=True)
        return len(made.tree.leaves)

    few = used | {str(leaves[0]): enough - 1}
    assert left(used, {}) == left(few, used) == left(used, few) == len(leaves)
    assert left(few, few) < len(leaves)
