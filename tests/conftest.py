"""What every test shares: subprocesses run this tree's code, and hypothesis keeps a steady pace."""

import os
from pathlib import Path

from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
os.environ["PYTHONPATH"] = str(ROOT / "src")

# Deadlines measure the machine, not the code: speed has its own benchmarks.
settings.register_profile("tacit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tacit")
