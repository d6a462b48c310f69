"""Topic detection on real encyclopaedia abstracts."""

from __future__ import annotations

import gzip
import json

from tests.realdata import shared_data

from tacit.device import wordnet_repository
from tacit.device.profile.construction import file_document
from tacit.taxonomy import load_wordnet


def test_most_articles_are_filed_under_what_they_are_about() -> None:
    repository, wordnet = wordnet_repository(), load_wordnet()
    right = total = 0
    with gzip.open(shared_data("wikispeedia_abstracts.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            article = json.loads(line)
            senses = wordnet.senses(article["title"])
            if number % 10 or len(senses) != 1:
                continue
            total += 1
            text = f"{article['title']} {article['text']}"
            right += file_document(repository, article["title"], text) == senses[0]
    assert total > 150
    assert right / total > 0.6  # chance among 20 candidates would be 0.05
