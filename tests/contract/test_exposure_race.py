"""Several processes expose to the same upstream at once: the bound on the union holds all the same."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
from pathlib import Path

from tacit.device import ExposureLedger, ProfileStore
from tacit.taxonomy import TopicTree

WORLD = """
from tacit.taxonomy import TopicTree
tree = TopicTree.from_paths([(("Health", f"Illness {i}"), 1.0) for i in range(8)] + [(("Leisure",), 24.0)])
illness = [tree.find(f"Top/Health/Illness {i}") for i in range(8)]
"""

RACER = """
import sys, time
import numpy as np
from tacit.device import ExposureBound, ExposureLedger, ProfileStore, generalise
from tacit.device.generalise.mapping import map_topics

mine, folder = int(sys.argv[1]), sys.argv[2]
with ProfileStore.open(f"{folder}/me.profile", tree) as store:
    profile, ledger = store.profile(), ExposureLedger(store)
    about = np.array([illness[mine]], np.int32)
    mapped = map_topics(profile, tree.support / tree.support[0], about, pseudo=0.0)
    proposed = generalise(mapped.seed, 1.0)
    open(f"{folder}/ready-{mine}", "w").close()
    deadline = time.monotonic() + 60
    import os
    while not os.path.exists(f"{folder}/go") and time.monotonic() < deadline:
        time.sleep(0.002)
    for _ in range(5):
        ledger.admit("engine", "q", proposed, profile, ExposureBound(0.5))
"""


def test_no_two_processes_slip_under_the_bound(tmp_path: Path) -> None:
    names: dict[str, object] = {}
    exec(WORLD, names)
    tree = names["tree"]
    assert isinstance(tree, TopicTree)
    illness = [tree.find(f"Top/Health/Illness {number}") for number in range(8)]
    with ProfileStore.create(tmp_path / "me.profile", tree) as store:
        store.add([(bytes([number]), topic) for number, topic in enumerate(illness)])
        for topic in illness[:4]:
            store.protect(topic, 1.0)
    code = textwrap.dedent(WORLD + RACER)
    racers = [
        subprocess.Popen([sys.executable, "-c", code, str(number), str(tmp_path)], stderr=subprocess.PIPE)
        for number in range(4)
    ]
    while not all((tmp_path / f"ready-{number}").exists() for number in range(4)):
        assert all(racer.poll() is None for racer in racers), "a racer ended before the start"
        time.sleep(0.01)
    (tmp_path / "go").touch()
    for racer in racers:
        _, errors = racer.communicate(timeout=120)
        assert racer.returncode == 0, errors
    with ProfileStore.open(tmp_path / "me.profile", tree) as store:
        history = ExposureLedger(store).history("engine")
    assert len(history) == 20
    assert all(entry.union_risk <= 0.5 for entry in history)
    exposed = {topic for entry in history for topic in entry.topics}
    assert len(exposed & set(illness[:4])) == 2  # a quarter of the sensitivity each: two fit, not three
