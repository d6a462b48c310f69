"""The proof that k people asked: an honest pool gives it, and a pool that lies needs k accounts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.pool_parties import Parties, make_join, parties

from tacit import Agent, InputError, ParameterError
from tacit.pool import agent as agent_module
from tacit.pool.agent import DeviceMemory
from tacit.pool.channel import oblivious, tokens
from tacit.pool.channel.join import JoinFile, token_challenge
from tacit.pool.channel.proof import Voucher, key_digest, proves
from tacit.pool.protocol.counting import Rules
from tacit.pool.server import pool as pool_module
from tacit.pool.server.issuer import IssuerFile

ME: dict[str, object] = {"age": 30, "place": "Redmond"}
PERIOD, NOW, WINDOW = 7, 10_000.0, 20.0


@pytest.fixture(scope="module")
def signer() -> tokens.BlindSigner:
    return tokens.BlindSigner()


@pytest.fixture
def join(tmp_path: Path) -> JoinFile:
    return make_join(tmp_path, issuer=True, proof=True, window=WINDOW)


def voucher(
    join: JoinFile,
    signer: tokens.BlindSigner,
    who: int,
    leaf: int,
    *,
    now: float = NOW,
    period: int = PERIOD,
) -> Voucher:
    """A person's voucher, with a token that the issuer signed."""
    key = Ed25519PrivateKey.from_private_bytes(bytes([who + 1]) * 32)
    nonce = key_digest(key.public_key().public_bytes_raw())
    begun = tokens.new_token(signer.public, token_challenge(join, period), nonce, nonce)
    token = begun.finish(tokens.sign_token(signer, begun.request))
    return replace(Voucher.signed(key, join, leaf, now), token=token[tokens.SIGNATURE])


def test_k_accounts_prove_a_region_and_nothing_below_or_beside_it(
    join: JoinFile, signer: tokens.BlindSigner
) -> None:
    """Whatever a pool makes of k - 1 accounts, of old, moved or strangers' vouchers, is no proof."""
    tree, key = join.tree, signer.public
    leaf = max(tree.leaves, key=lambda each: len(tree.paths[each]))
    path, sibling = tree.paths[leaf], next(each for each in tree.leaves if each != leaf)
    node = path[1]
    people = [voucher(join, signer, who, leaf) for who in range(3)]

    def shown(*given: Voucher, at: int = node, now: float = NOW) -> bool:
        return proves(join, key, PERIOD, at, [each.shown_for(node, path) for each in given], now)

    assert shown(*people)
    assert all(Voucher.parse(each.to_text()) == each for each in people)
    assert shown(*people, at=node) and not shown(*people, at=leaf), "a finer region than was signed"
    assert not shown(*people, at=path[-1]), "a coarser one is another statement, too"
    assert not shown(*people[:2])
    assert not shown(*people[:2], people[1], people[0]), "an account counts once"
    again = voucher(join, signer, 1, leaf, now=NOW - WINDOW)
    assert not shown(*people[:2], again), "also with another slot"
    for seconds, held in ((0.0, True), (0.2, True), (2.0, True), (3.1, False), (-0.2, True), (-1.3, False)):
        assert shown(*people, now=NOW + seconds * WINDOW) is held, seconds
    stranger = tokens.BlindSigner()
    for bad in (
        voucher(join, stranger, 5, leaf),
        voucher(join, signer, 5, leaf, period=PERIOD - 1),
        replace(people[2], key=bytes(32)),
        replace(people[2], slot=people[2].slot - 1),
        replace(people[2], below=bytes(32)),
        replace(people[2], token=b""),
        replace(voucher(join, signer, 5, leaf), token=people[1].token),
        replace(voucher(join, signer, 5, leaf), signature=people[1].signature),
    ):
        assert not shown(*people[:2], bad)
    other = voucher(join, signer, 5, sibling)
    assert other.holds(join, sibling) and not other.holds(join, leaf)
    elsewhere = replace(join, people=41)
    assert not people[0].holds(elsewhere, leaf), "another join file"


def test_a_voucher_tells_others_nothing_below_the_region(join: JoinFile, signer: tokens.BlindSigner) -> None:
    """Two people of different leaves look alike, and the same one twice does not repeat what is below."""
    tree = join.tree
    leaves = [leaf for leaf in tree.leaves if len(tree.paths[leaf]) > 2][:2]
    root = tree.paths[leaves[0]][-1]
    seen = [voucher(join, signer, 1, leaf).shown_for(root, tree.paths[leaf]) for leaf in (*leaves, leaves[0])]
    assert all(each.holds(join, root) for each in seen)
    assert len({each.below for each in seen}) == 3, "salted: trying all leaves finds nothing"
    assert {len(each.to_text()) for each in seen} == {len(seen[0].to_text())}


@contextmanager
def accounts(folder: Path, number: int) -> Iterator[list[Path]]:
    file = IssuerFile(folder / "accounts.db")
    paths = [folder / f"{each}.account" for each in range(number)]
    for path in paths:
        file.new_account(path)
    yield paths


def run(folder: Path, work: Any, **options: Any) -> Any:
    async def main() -> Any:
        with accounts(folder, 4) as known:
            async with parties(folder, issuer=True, proof=True, **options) as pool:
                return await work(pool, known)

    return asyncio.run(main())


async def ask(pool: Parties, known: list[Path], number: int = 3) -> list[Any]:
    async def one(number: int) -> Any:
        async with pool.agent(number, ME, account=known[number]) as agent:
            return await agent.search(f"tea {number}")

    return await asyncio.gather(*(one(each) for each in range(number)), return_exceptions=True)


def test_each_answer_is_proved_in_messages_of_one_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their order says nothing of who asked first: else the service would know whose text is whose."""
    shown = list[list[bytes]]()

    def noted(join: JoinFile, key: Any, period: int, node: int, given: list[Voucher], now: float) -> bool:
        shown.append([each.key for each in given])
        return proves(join, key, period, node, given, now)

    monkeypatch.setattr(agent_module, "proves", noted)

    async def work(pool: Parties, known: list[Path]) -> None:
        together = await ask(pool, known)
        alone = []
        for number in (3, 1, 0, 2):
            async with pool.agent(number, ME, account=known[number]) as agent:
                alone.append(await agent.search("alone"))
        assert all(each["proved"] and each["guarded"] for each in (*together, *alone)), together
        sent = [each for each in pool.seen["pool.test"] if each.method == "POST"]
        assert len({len(each.body) for each in sent}) == 1

    run(tmp_path, work)
    assert len(shown) == 7 and all(keys == sorted(keys) for keys in shown)


def test_who_is_held_into_another_slot_is_proved(tmp_path: Path) -> None:
    async def work(pool: Parties, known: list[Path]) -> None:
        async with pool.agent(3, ME, account=known[3]) as agent:
            asking = asyncio.create_task(agent.search("long held"))
            await asyncio.sleep(6.5)  # three slots later
            others = await ask(pool, known, 2)
            answer = await asking
        assert answer["proved"], answer
        assert [each["proved"] for each in others] == [True, True]

    run(tmp_path, work, window=2.0, period=600.0)


def test_a_pool_that_counts_too_few_is_found_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says k = 3 and lets queries out that two people share."""
    usual = pool_module.QueryCounter
    monkeypatch.setattr(
        pool_module, "QueryCounter", lambda tree, rules: usual(tree, Rules(2, rules.window, rules.period))
    )

    async def work(pool: Parties, known: list[Path]) -> None:
        found = await ask(pool, known, 2)
        assert all(isinstance(each, oblivious.RelayedError) for each in found), found
        assert "did not prove that 3 people asked" in str(found[0])

    run(tmp_path, work)


def test_a_pool_that_refuses_the_proof_does_not_hide_that_the_query_was_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(_worker: object, _given: object) -> dict[str, Any]:
        raise InputError("not today.")

    monkeypatch.setattr(pool_module._Worker, "proof", refuse)

    async def work(pool: Parties, known: list[Path]) -> None:
        found = await ask(pool, known)
        assert ["the query was sent, but" in str(each) for each in found] == [True] * 3, found

    run(tmp_path, work)


def test_what_a_device_keeps_draws_no_key_of_an_earlier_period(tmp_path: Path) -> None:
    """Who takes the device finds nothing that tells which vouchers and tokens of the past were its own."""
    join, path = make_join(tmp_path, window=WINDOW), tmp_path / "memory.json"
    memory, other = (DeviceMemory.opened(path, join, None, None) for _ in range(2))
    first = memory.at
    memory.enter(first)
    before, ahead = memory.secret, {at: memory.drawn(at) for at in range(first, first + 4)}
    assert len(set(ahead.values())) == 4
    other.enter(first + 2)
    again = DeviceMemory.opened(path, join, None, None)
    for each in (other, again):  # what was fetched ahead, and what a second agent draws
        assert [each.drawn(at) for at in (first + 2, first + 3)] == [ahead[first + 2], ahead[first + 3]]
    assert again.drawn(first) != ahead[first] and before not in path.read_text()
    again.enter(10**15)  # a lying pool's: no endless work


def test_strange_vouchers_are_refused_and_a_wrong_clock_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(pool: Parties, known: list[Path]) -> None:
        async with pool.agent(1, ME, account=known[1]) as agent:
            while (period := (await agent.standing())["period"]) is None:
                await asyncio.sleep(0.1)
            own = agent._voucher(agent.memory.key(period))
            leaf = next(each for each in pool.join.tree.leaves if each != agent.leaf)
            lying = Voucher.signed(agent.memory.key(period), pool.join, leaf, time.time()).to_text()
            strange = Voucher.signed(
                agent.memory.key(period + 1), pool.join, agent.leaf, time.time()
            ).to_text()
            for wrong in (lying, strange, own["voucher"][:-8], "AAAA"):
                monkeypatch.setattr(agent, "_voucher", lambda _key, wrong=wrong: {"voucher": wrong})
                with pytest.raises(oblivious.RelayedError, match="refused the request"):
                    await agent.search("tea")
            assert pool.asked == []
        monkeypatch.setattr(agent_module.Agent, "_slot", lambda self: 0)
        real = Voucher.signed
        monkeypatch.setattr(
            Voucher, "signed", lambda key, join, leaf, now: real(key, join, leaf, now - 3 * join.rules.window)
        )
        async with pool.agent(2, ME, account=known[2]) as agent:
            with pytest.raises(InputError, match="clock is off"):
                await agent.search("tea")

    run(tmp_path, work)


def test_a_proof_counts_accounts_and_is_a_promise_that_stays(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="counts accounts"):
        make_join(tmp_path, proof=True)
    with accounts(tmp_path, 1) as (account,):
        memory = tmp_path / "memory.json"
        Agent(make_join(tmp_path, issuer=True), ME, memory=memory, account=account)
        Agent(make_join(tmp_path, issuer=True, proof=True), ME, memory=memory, account=account)
        with pytest.raises(InputError, match="no longer proves"):
            Agent(make_join(tmp_path, issuer=True), ME, memory=memory, account=account)
