"""Implicit feedback (eq. 3.8): its weights by hand, and that who is judged gives none."""

from __future__ import annotations

from math import log2

import pytest
from benchmarks.thesis.thesis_adhoc import ThesisAdhoc as Adhoc
from tests.evaluate_log import part, release

from tacit.evaluate import run_task

NOBODY = part()
JAVA = release(clicks={("java", "A"): 5, ("java", "C"): 3, ("java", "B"): 2})


def test_ranks_weigh_as_the_equation_says() -> None:
    # eve gives feedback, fay is judged. A: 1/2. C: 1/3. B, third of the release and clicked at rank 1:
    # 0.6/2 + 0.4/4 = 0.4, between the two.
    test = part(("eve", 0, "java", 1, "B"), ("fay", 0, "java", 7, "B"))
    found = run_task(Adhoc(), NOBODY, JAVA, test)
    assert found["implicit feedback: nDCG@10"].values == pytest.approx([1 / log2(3)])


def test_a_click_without_a_rank_is_no_feedback() -> None:
    # At whichever rank eve clicked B, it might have moved up; as it is, B stays third.
    test = part(("eve", 0, "java", None, "B"), ("fay", 0, "java", 7, "B"))
    found = run_task(Adhoc(), NOBODY, JAVA, test)
    assert found["implicit feedback: nDCG@10"].values == pytest.approx([1 / log2(4)])


def test_who_is_judged_gives_no_feedback() -> None:
    # Only fay clicked X, which was not released: from others nobody can know it. As printed it is known.
    test = part(("eve", 0, "tea", 1, "T"), ("fay", 0, "java", 1, "X"))
    found = run_task(Adhoc(), NOBODY, JAVA, test)
    assert found["implicit feedback: nDCG@10"].values == pytest.approx([0.0])
    assert found["implicit feedback, as printed: nDCG@10"].values[0] > 0
