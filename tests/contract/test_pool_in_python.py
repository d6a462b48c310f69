"""The pool from Python: the same as its commands, in a few lines, with the same refusals."""

from __future__ import annotations

import asyncio
import inspect
import json
from pathlib import Path

import numpy as np
import pytest
from tests.served_app import served_app
from typer.testing import CliRunner

from tacit.commands import application
from tacit.errors import InputError, ParameterError
from tacit.pool import Agent, Pool, PoolSimulation, simulate_pool, verify_log

TEMPLATE = '[[attribute]]\nname = "age"\nlow = 18\nhigh = 99\n'


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "template.toml"
    path.write_text(TEMPLATE)
    return path


def test_a_simulation_gives_what_the_command_prints(tmp_path: Path) -> None:
    one, other = tmp_path / "one.parquet", tmp_path / "other.parquet"
    found = simulate_pool(k=5, window=20, arrivals=10, stay=20, windows=3, seeds=2, verify=True, log=one)
    words = "--k 5 --window 20 --arrivals 10 --stay 20 --windows 3 --seeds 2 --verify --json --log"
    done = CliRunner().invoke(application(), ["simulate", *words.split(), str(other)])
    assert json.loads(done.stdout) == json.loads(json.dumps(found.as_dict()))
    assert one.read_bytes() == other.read_bytes()
    assert found.verified is not None and found.verified["definition_2_violations"] == 0
    assert verify_log(one, k=5, window=20).holds
    assert "\n" not in repr(found) and "k=5" in repr(found)
    with pytest.raises(InputError, match="exists already"):
        simulate_pool(k=5, window=20, arrivals=10, stay=20, windows=1, log=one)


def test_an_agent_joins_a_pool_in_five_lines(template: Path) -> None:
    pool = Pool(k=3, window=60, template=template)
    assert repr(pool) == "Pool(k=3, window=60 s, records of age, in memory)"

    async def ask(address: str) -> tuple[object, str, dict[str, str]]:
        async with Agent(address, {"age": 34}, without="general") as agent:
            region = await agent.region(timeout=30)
            assert region is not None
            return agent.status()["guarded"], repr(agent), agent.describe(region)

    with served_app(pool.app()) as client:
        guarded, said, words = asyncio.run(ask(str(client.base_url)))
    assert guarded is False and words == {}, "alone, nobody is guarded: the whole domain says nothing"
    assert said.endswith("direct channel)") and "34" not in said and "\n" not in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 2}, "`redis=redis"),
        ({"relay": "https://relay.example"}, "`relay` and `relay_secret`"),
        ({"k": 1}, "k must be a whole number, 2 or more; found 1"),
        ({"window": 3.0}, "window must be longer"),
    ],
)
def test_a_pool_refuses_what_the_command_refuses(options: dict[str, object], message: str) -> None:
    with pytest.raises(ParameterError, match=message) as caught:
        Pool(**options)  # type: ignore[arg-type]
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    done = CliRunner().invoke(application(), ["pool", "serve", *words])
    assert isinstance(done.exception, ParameterError) or done.exit_code == 2
    for quoted in str(caught.value).split("`")[1::2]:
        assert quoted.partition("=")[0] in inspect.signature(Pool).parameters


def test_integers_of_numpy_are_integers_and_other_types_are_refused_by_name() -> None:
    assert Pool(k=np.int64(3)).as_dict()["rules"]["k"] == 3  # type: ignore[arg-type]
    json.dumps(Pool(k=np.int64(3), window=np.float32(60)).as_dict())  # type: ignore[arg-type]
    for options in ({"k": "3"}, {"k": 3.5}, {"window": "long"}, {"overlap": None}):
        with pytest.raises(ParameterError, match=f"{next(iter(options))} must be"):
            Pool(**options)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="windows must be a whole number"):
        simulate_pool(windows="many")  # type: ignore[arg-type]


def test_an_agent_refuses_an_issuer_without_an_account() -> None:
    with pytest.raises(ParameterError, match="`issuer` and `account`"):
        Agent("http://127.0.0.1:9", {"age": 34}, issuer="https://issuer.example")


@pytest.mark.parametrize("public", [Agent, Pool, PoolSimulation, simulate_pool, verify_log])
def test_every_parameter_is_named_and_explained(public: object) -> None:
    text = inspect.getdoc(public) or ""
    for name in inspect.signature(public).parameters:  # type: ignore[arg-type]
        assert f"{name}:" in text, name
