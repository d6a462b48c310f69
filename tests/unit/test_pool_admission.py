"""Passes: one an account and period, each for one message, and nothing by which they are recognised."""

from __future__ import annotations

import base64
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from tests.open_envelope import OpenEnvelope

from tacit.errors import InputError, ParameterError
from tacit.pool.agent.machine import AgentMachine
from tacit.pool.channel.secret_files import add_account, read_accounts, read_secret
from tacit.pool.protocol.batches import (
    PASSES_AT_ONCE,
    AdmissionPass,
    BlindSigner,
    IssuedKey,
    PassIssuer,
    PassVerifier,
    SealedMessage,
    VerifyingKey,
    account_digest,
)
from tacit.pool.protocol.messages import Reply, Rules
from tacit.pool.protocol.table import whole_domain
from tacit.pool.protocol.template import parse_template

EVERY = 45.0
ACCOUNTS = [f"{number:064x}" for number in range(3)]
GROUP, OTHER = "0" * 64, "1" * 64


@pytest.fixture
def issuer() -> PassIssuer:
    return PassIssuer(map(account_digest, ACCOUNTS), EVERY)


def ask(
    issuer: PassIssuer, account: str, now: float, shown: IssuedKey | None = None
) -> AdmissionPass | Reply:
    """Ask for a pass as an agent does; the pass, or why there is none."""
    issued = shown or issuer.present(now)
    key, token = VerifyingKey.from_bytes(issued.key), secrets.token_hex(16)
    blinded = key.blind(token.encode())
    reply, signed = issuer.sign(account, issued.period, blinded.request, now)
    if reply is not Reply.ACCEPTED:
        return reply
    return AdmissionPass.finished(issued.period, token, key, blinded, signed)


def passed(found: AdmissionPass | Reply) -> AdmissionPass:
    assert isinstance(found, AdmissionPass)
    return found


def test_an_account_gets_one_pass_a_period(issuer: PassIssuer) -> None:
    passed(ask(issuer, ACCOUNTS[0], 100.0))
    assert ask(issuer, ACCOUNTS[0], 101.0) is Reply.REPEATED
    passed(ask(issuer, ACCOUNTS[1], 101.0))
    passed(ask(issuer, ACCOUNTS[0], 100.0 + EVERY))
    assert ask(issuer, "f" * 64, 101.0 + EVERY) is Reply.REFUSED


def test_whoever_lost_the_answer_gets_the_same_again(issuer: PassIssuer) -> None:
    issued = issuer.present(100.0)
    blinded = VerifyingKey.from_bytes(issued.key).blind(b"token")
    first = issuer.sign(ACCOUNTS[0], issued.period, blinded.request, 100.0)
    assert first[0] is Reply.ACCEPTED
    assert issuer.sign(ACCOUNTS[0], issued.period, blinded.request, 101.0) == first
    assert issuer.sign(ACCOUNTS[1], issued.period - 1, blinded.request, 101.0) == (Reply.GONE, b"")


def test_a_pass_is_good_for_one_message(issuer: PassIssuer) -> None:
    verifier = PassVerifier()
    verifier.learn(issuer.present(100.0), 0.0)
    shown = passed(ask(issuer, ACCOUNTS[0], 100.0))
    assert verifier.spend(shown, GROUP) and verifier.spend(shown, GROUP)  # it came twice
    assert not verifier.spend(shown, OTHER)
    changed = ["0" * 32, shown.token[::-1]]
    assert not any(verifier.spend(replace(shown, token=token), GROUP) for token in changed)
    assert not verifier.spend(replace(shown, signature="AAAA"), GROUP)
    assert not verifier.spend(replace(shown, prefix="not base64!"), GROUP)


def test_nobody_saves_passes_up(issuer: PassIssuer) -> None:
    """Somebody who collects a pass in each of four periods has two that are good."""
    saved = [passed(ask(issuer, ACCOUNTS[0], period * EVERY)) for period in range(4)]
    verifier = PassVerifier()
    fresh = PassIssuer(map(account_digest, ACCOUNTS), EVERY)
    hoard = []
    for period in range(4):
        verifier.learn(fresh.present(period * EVERY), period * EVERY)
        hoard.append(passed(ask(fresh, ACCOUNTS[0], period * EVERY)))
    good = [verifier.spend(each, GROUP) for each in hoard]
    assert good == [False] * (4 - PASSES_AT_ONCE) + [True] * PASSES_AT_ONCE
    assert not any(verifier.spend(each, OTHER) for each in saved)  # another key


def test_a_relay_without_traffic_for_a_period_knows_its_key_all_the_same(issuer: PassIssuer) -> None:
    before = passed(ask(issuer, ACCOUNTS[0], 100.0))
    verifier = PassVerifier()
    verifier.learn(issuer.present(100.0 + EVERY), 0.0)
    assert verifier.spend(before, GROUP)
    verifier.learn(issuer.present(100.0 + 3 * EVERY), 2 * EVERY)
    assert not verifier.spend(before, GROUP)


def test_an_issuer_that_gives_somebody_a_key_of_their_own_makes_no_good_pass(issuer: PassIssuer) -> None:
    verifier = PassVerifier()
    verifier.learn(issuer.present(100.0), 0.0)
    special = BlindSigner()
    token = secrets.token_hex(16)
    blinded = special.public.blind(token.encode())
    marked = AdmissionPass.finished(2, token, special.public, blinded, special.sign(blinded.request))
    assert marked.holds(special.public) and not verifier.spend(marked, GROUP)


def test_the_first_key_of_a_period_stays(issuer: PassIssuer) -> None:
    """An issuer that restarts forgets who had a pass; what it gives again is refused for the period."""
    again = PassIssuer(map(account_digest, ACCOUNTS), EVERY)
    verifier = PassVerifier()
    assert verifier.stale(0.0)
    verifier.learn(issuer.present(100.0), 0.0)
    assert not verifier.stale(1.0) and verifier.stale(1.0, period=3) and verifier.stale(EVERY)
    verifier.learn(again.present(100.0), 1.0)
    assert verifier.spend(passed(ask(issuer, ACCOUNTS[0], 100.0)), GROUP)
    assert not verifier.spend(passed(ask(again, ACCOUNTS[0], 100.0)), GROUP)


def test_what_the_issuer_sees_is_not_the_pass(issuer: PassIssuer) -> None:
    issued = issuer.present(100.0)
    key, token = VerifyingKey.from_bytes(issued.key), secrets.token_hex(16)
    blinded = key.blind(token.encode())
    _, signed = issuer.sign(ACCOUNTS[0], issued.period, blinded.request, 100.0)
    shown = AdmissionPass.finished(issued.period, token, key, blinded, signed)
    signature = base64.b64decode(shown.signature)
    asked_for = pow(int.from_bytes(signature, "big"), key.e, key.n).to_bytes(key.length, "big")
    assert signature != signed and asked_for != blinded.request
    assert key.blind(token.encode()).request != blinded.request


@pytest.mark.parametrize(
    "given",
    [
        None,
        {},
        {"period": "1", "prefix": "x", "signature": "x"},
        {"period": 1, "prefix": "", "signature": "x"},
    ],
)
def test_what_is_no_pass_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="a pass has"):
        AdmissionPass.parse(given, "0" * 32)
    with pytest.raises(InputError, match="key cannot be read"):
        IssuedKey.parse({"period": 1, "every": 2, "ends_in": 1, "key": "%", "last": ""})
    with pytest.raises(ParameterError):
        PassIssuer([], 0.5)


def test_accounts_are_kept_as_digests(tmp_path: Path) -> None:
    accounts = tmp_path / "accounts.txt"
    assert [add_account(accounts, tmp_path / f"{name}.account") for name in ("alice", "bob")] == [1, 2]
    secret = read_secret(tmp_path / "alice.account")
    assert account_digest(secret) in read_accounts(accounts) and secret not in accounts.read_text()
    with pytest.raises(InputError, match="exists already"):
        add_account(accounts, tmp_path / "alice.account")
    accounts.write_text("Thelma\n")
    with pytest.raises(InputError, match="line 1") as refused:
        read_accounts(accounts)
    assert "Thelma" not in str(refused.value)


def test_an_agent_answers_with_a_pass_or_not_at_all() -> None:
    rules = Rules(k=3, window=60.0, count=4.0, identify=4.0, form=1.0, skew=2.0)
    template = parse_template({"attribute": [{"name": "age", "low": 18, "high": 99}]})
    shown = AdmissionPass(7, "a" * 32, "prefix", "signature")
    for passes in ({}, {7: shown, 8: replace(shown, period=8)}):
        agent = AgentMachine(
            rules, template, (2,), OpenEnvelope(), without="general", relayed=True, admitted=True
        )
        agent.on_table(whole_domain(1, template), "key", 50.0, 0.0)
        agent.passes.update(passes)
        assert agent.region_for_query(1.0) is not None
        assert agent.on_count(1, 2.0) is not None
        planned = agent.on_identify(1, [-1], 6.0)
        if not passes:
            assert planned is None
            continue
        assert planned is not None and isinstance(planned.message, SealedMessage)
        newest = planned.message.admission
        assert newest is not None and newest.period == 8 and planned.message.token == newest.token
        assert list(agent.passes) == [7]  # used once, the newest first
        assert SealedMessage.parse(planned.message.as_dict()) == planned.message


def test_a_short_key_is_not_relied_on() -> None:
    short = VerifyingKey(rsa.generate_private_key(65_537, 1_024).public_key())
    with pytest.raises(InputError, match="2,048"):
        PassVerifier().learn(IssuedKey(1, EVERY, 1.0, short.to_bytes()), 0.0)
