"""The filter against its definition, worked out the long way; and what its neighbours rule is for."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import NormalDist

import numpy as np
import numpy.typing as npt
import pytest

from tacit.device import Guard, load_repository
from tacit.device.profile.history import NEAREST
from tacit.device.sending.withholding import NEAR_PART, NEAR_SHARE, STRICT_COSINE, TWIN_COSINE, Withholding

REPOSITORY = load_repository()
VECTORS, TREE = REPOSITORY.vectors, REPOSITORY.tree
START = datetime(2026, 1, 1, tzinfo=UTC)


def topic(name: str) -> int:
    return int(REPOSITORY.corpus.wordnet.synset(name))  # type: ignore[attr-defined]


def documents(number: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    chosen = np.random.default_rng(11).integers(1, len(TREE), number)
    directions = VECTORS.table.directions(REPOSITORY.corpus[int(n)].text for n in chosen)
    near, _ = VECTORS.nearest(directions, NEAREST)
    near[~directions.any(axis=1)] = -1
    return near, directions


def is_caught(
    near: npt.NDArray[np.int32], cosines: npt.NDArray[np.float64], sensitive: list[int], strict: bool
) -> bool:
    """The definition, document by document."""
    if near[0] < 0:
        return True
    for s in sensitive:
        below = np.arange(s, TREE.end[s])
        if np.isin(near, below).any() or (VECTORS.matrix[near] @ VECTORS.matrix[s] >= TWIN_COSINE).any():
            return True
        nearest = cosines[below].max()
        share = NEAR_SHARE / len(below) ** (1 / 3)
        few = nearest >= cosines[1:].mean() + NormalDist().inv_cdf(1 - share) * cosines[1:].std()
        if few and nearest >= NEAR_PART * cosines[1:].max():
            return True
        if strict and nearest >= STRICT_COSINE:
            return True
    return False


@pytest.mark.parametrize("strict", [False, True])
def test_the_filter_catches_what_its_definition_says(strict: bool) -> None:
    near, directions = documents(300)
    sensitive = [topic("disease.n.01"), topic("mosque.n.01")]
    found = Withholding(VECTORS, dict.fromkeys(sensitive, 1.0), strict=strict).caught(near, directions)
    cosines = directions.astype(np.float64) @ VECTORS.matrix.T.astype(np.float64)
    expected = [is_caught(*pair, sensitive, strict) for pair in zip(near, cosines, strict=True)]
    assert found.tolist() == expected
    assert 0.05 < np.mean(expected) < 0.9


def test_each_document_is_judged_by_itself() -> None:
    near, directions = documents(300)
    judge = Withholding(VECTORS, {topic("religion.n.01"): 1.0}, strict=False)
    alone = [judge.caught(near[n : n + 1], directions[n : n + 1])[0] for n in range(300)]
    assert judge.caught(near, directions).tolist() == alone


def test_nothing_is_caught_where_nothing_is_sensitive() -> None:
    near, directions = documents(50)
    assert not Withholding(VECTORS, {}, strict=True).caught(near, directions).any()


def test_a_neighbour_does_not_betray_the_sensitive_topic(tmp_path: Path) -> None:
    """Pages on the treatment of an illness are under other topics than the illness itself."""
    pages = [
        ("Insulin pump", "a device that gives insulin to people with diabetes through the day"),
        ("Insulin dose", "how to work out the dose of insulin for high blood sugar after meals"),
        ("Insulin resistance", "body cells respond less to insulin, and sugar stays in the blood"),
    ]
    sent = {}
    for name in ("", "diabetes.n.01"):
        with Guard(tmp_path / f"of{name}.profile") as guard:
            if name:
                guard.sensitive(name, 1.0)
            guard.learn(
                ("", {"url": f"u{n}", "title": title, "snippet": text}, START + timedelta(hours=n))
                for n, (title, text) in enumerate(pages)
            )
            sent[name] = guard.protect("insulin").sent
            withheld = [click.withheld for click in guard.history()]
    assert sent == {"": True, "diabetes.n.01": False}
    assert all(withheld)
