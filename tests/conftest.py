"""What every test shares: subprocesses run this tree's code, and every run draws the same.

``make test`` always says the same: hypothesis draws its examples from each test's own source and keeps none,
and the randomness of the operating system, from which noise is drawn, is replaced by a stream that the name
of the test (or of the fixture) fixes. ``make fuzz`` loads the profile ``fuzz``, in which both are random.
"""

import atexit
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from tests.drawn import FUZZING, Drawn

from tacit.privacy.noise.randomness import OperatingSystemRandomness

ROOT = Path(__file__).parent.parent
os.environ["PYTHONPATH"] = str(ROOT / "src")

# Fixtures of the whole session come before those below: their ledgers are no concern of the user's either.
os.environ["TACIT_STATE"] = tempfile.mkdtemp(prefix="tacit-tests-")
atexit.register(shutil.rmtree, os.environ["TACIT_STATE"], ignore_errors=True)

# Started in the background, a shell makes its children ignore Ctrl-C, and theirs inherit that. The tests
# that press it need it heard.
if (
    threading.current_thread() is threading.main_thread()
    and signal.getsignal(signal.SIGINT) == signal.SIG_IGN
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Deadlines measure the machine, not the code: speed has its own benchmarks.
settings.register_profile(
    "tacit", deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True, database=None
)
settings.register_profile(
    "fuzz",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=300,
    print_blob=True,
    database=DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "fuzz"),
)
settings.load_profile("fuzz" if FUZZING else "tacit")
if not FUZZING:
    Drawn.replace_the_system()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Each test draws the same, whichever tests ran before it."""
    Drawn.fix(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest) -> object:
    """So does each fixture that several tests share, whichever of them comes first."""
    if fixturedef.scope == "function":
        return (yield)
    before = Drawn.stream
    Drawn.fix(f"{fixturedef.baseid}::{fixturedef.argname}[{getattr(request, 'param_index', 0)}]")
    try:
        return (yield)
    finally:
        Drawn.stream = before


@pytest.fixture
def system_randomness(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system's own randomness, for tests of how it is read."""
    monkeypatch.setattr(OperatingSystemRandomness, "bits", Drawn.from_the_system)


@pytest.fixture(autouse=True, scope="module")
def _state_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a module's fixtures release is known to that module alone, and never to the user's own
    register.
    """
    before = os.environ.get("TACIT_STATE")
    os.environ["TACIT_STATE"] = str(tmp_path_factory.mktemp("state"))
    yield
    if before is None:
        del os.environ["TACIT_STATE"]
    else:
        os.environ["TACIT_STATE"] = before


@pytest.fixture(autouse=True)
def _state_of_the_test(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test knows only the ledgers it makes itself."""
    monkeypatch.setenv("TACIT_STATE", str(tmp_path_factory.mktemp("state")))
