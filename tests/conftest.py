"""What every test shares: subprocesses run this tree's code, and hypothesis keeps a steady pace."""

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
settings.register_profile("tacit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tacit")


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
