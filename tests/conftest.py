"""What every test shares: subprocesses run this tree's code, and hypothesis keeps a steady pace."""

import os
import signal
import threading
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
os.environ["PYTHONPATH"] = str(ROOT / "src")

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


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test knows only the ledgers it makes itself, and never the user's."""
    monkeypatch.setenv("TACIT_STATE", str(tmp_path_factory.mktemp("state")))
