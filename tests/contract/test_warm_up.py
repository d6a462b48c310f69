"""After warming up, the first search finds every loop compiled and loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_FIRST_SEARCH = """
import sys
from pathlib import Path
from numba.core.registry import CPUDispatcher
from tacit.device import Guard

def loaded():
    loops = {id(loop): loop for name, module in list(sys.modules.items()) if name.startswith("tacit.")
             for loop in vars(module).values() if isinstance(loop, CPUDispatcher)}
    return {loop.py_func.__qualname__: len(loop.signatures) for loop in loops.values()}

results = [{"url": f"https://{n}.example/", "title": f"coffee {n}", "snippet": "espresso"} for n in range(20)]
with Guard(Path(sys.argv[1])) as guard:
    guard.confirm()
    for result in results[:8]:
        guard.clicked("coffee", result)
    if sys.argv[2] == "warm":
        guard.warm_up()
    before = loaded()
    guard.explain("coffee", results)
    assert guard.protect("coffee beans").sent
    print(sum(count != before.get(name, 0) for name, count in loaded().items()))
"""


def _loaded_by_the_first_search(path: Path, state: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", _FIRST_SEARCH, str(path), state], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_the_first_search_waits_for_no_loop(tmp_path: Path) -> None:
    assert _loaded_by_the_first_search(tmp_path / "cold.profile", "cold") > 0
    assert _loaded_by_the_first_search(tmp_path / "warm.profile", "warm") == 0
