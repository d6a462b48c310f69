"""How often the scorer over the people's taxonomy finds what a text is about.

    python benchmarks/people_topics.py

Encyclopaedia abstracts (title and 200 characters) whose categories were mapped to topics by hand. Words and
settings were looked at on articles with odd numbers only; those with even numbers are held out. The floor, in
the same run, is the direction of a topic's words alone, without soft words. Claim: the first topic is right
for at least 0.70 of the held-out articles, and one of the first three for at least 0.88.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from tacit.retrieval.people_topics import PeopleTopics, people_topics

ARTS = "Arts & Entertainment"
ACCEPTED = {
    "Art": f"{ARTS}/Painting {ARTS}/Sculpture {ARTS}/Museums History",
    "Business_Studies/Business": "Business Money Shopping Employer",
    "Business_Studies/Companies": "Business Computers Electronics Shopping Cars Travel Internet Energy",
    "Business_Studies/Currency": "Money",
    "Business_Studies/Economics": "Business Money Social",
    "Citizenship/Animal_and_Human_Rights": "Crime Origin Politics Religion Sexuality Children",
    "Citizenship/Community_organisations": "Hobbies Education Religion Children Politics Business",
    "Citizenship/Education": "Education",
    "Citizenship/Environment": "Nature Business/Energy Home/Solar",
    "Citizenship/Law": "Crime Politics",
    "Citizenship/Media": "Arts Books News Internet",
    "Citizenship/Politics_and_government": "Politics Crime History Origin",
    "Countries": "Places",
    "Design_and_Technology/Air_and_Sea_transport": "Cars Travel",
    "Design_and_Technology/Architecture": f"{ARTS}/Arch History/Historic Home Religion Travel Science",
    "Design_and_Technology/Engineering": "Science Business Cars Electronics Home Computers",
    "Design_and_Technology/Railway_transport": "Cars & Vehicles/Trains Travel/Buses",
    "Design_and_Technology/Road_transport": "Cars Travel Sports/Motor",
    "Everyday_life/Cartoons": "Arts",
    "Everyday_life/Computer_and_Video_games": "Games Arts",
    "Everyday_life/Drink": "Food",
    "Everyday_life/Films": "Arts",
    "Everyday_life/Food_and_agriculture": "Food Business/Farming Garden Nature",
    "Everyday_life/Games": "Games Addiction/Gambling",
    "Everyday_life/Sports": "Sports Hobbies Fitness Pets/Horses",
    "Everyday_life/Sports_events": "Sports",
    "Everyday_life/Sports_teams": "Sports",
    "Everyday_life/Television": "Arts",
    "Geography/African_Geography": "Places/Africa Nature Travel Places/Middle",
    "Geography/Central_and_South_American_Geography": "Places/Latin Nature",
    "Geography/Climate_and_the_Weather": "Nature",
    "Geography/European_Geography": "Places Nature Travel",
    "Geography/Geography_of_Asia": "Places Nature Travel",
    "Geography/Geography_of_Great_Britain": "Places/Britain Nature Travel History/Historic",
    "Geography/Geography_of_Oceania_Australasia": "Places/Australia Nature Travel/Beaches",
    "Geography/Geology_and_geophysics": "Nature/Mountains Nature/Oceans Nature/Dino Science Nature/Storms",
    "Geography/Natural_Disasters": "Nature Cars",
    "Geography/North_American_Geography": "Places Nature Travel",
    "Geography/Peoples": "Origin",
    "Geography/Storms": "Nature/Storms Nature/Weather",
    "History/Ancient_History_Classical_History_and_Mythology": "History Religion/Hinduism Places/Middle",
    "History/British_History": "History Places/Britain Politics Religion Cars & Vehicles/Ships",
    "History/Military_History_and_War": "History Cars & Vehicles/Ships Cars & Vehicles/Aircraft",
    "History/Pre_1900_Military": "History Cars & Vehicles/Ships",
    "History/World_War_II": "History Cars & Vehicles/Ships Cars & Vehicles/Aircraft Origin/Racism",
    "IT": "Computers Internet Electronics",
    "Language_and_literature/Languages": "Science/Languages Education/Language Places Origin",
    "Language_and_literature/Linguistics": "Science/Languages Education Books",
    "Language_and_literature/Novels": "Books Arts & Entertainment/Science Arts & Entertainment/Films",
    "Language_and_literature/Poetry_and_Opera": "Books Arts",
    "Language_and_literature/Theatre": "Arts Books",
    "Mathematics": "Science/Mathematics Science/Statistics Science/Physics Computers/Computer Games/Puzzles",
    "Music": "Arts",
    "People/Actors_models_and_celebrities": "Arts Beauty",
    "People/Artists": f"{ARTS}/Painting {ARTS}/Sculpture {ARTS}/Arch {ARTS}/Mus",
    "People/Astronomers_and_physicists": "Science History/History",
    "People/Chemists": "Science History/History",
    "People/Engineers_and_inventors": "Science History/History Cars Electronics Computers Business",
    "People/Geographers_and_explorers": "History Science/Earth",
    "People/Mathematicians": "Science History/History Computers/Computer",
    "People/Military_People": "History Cars & Vehicles/Ships",
    "People/Monarchs_of_Great_Britain": "History",
    "People/Performers_and_composers": "Arts",
    "People/Philosophers": "History/Philosophy",
    "People/Political_People": "Politics",
    "People/Religious_figures_and_leaders": "Religion",
    "People/Sports_and_games_people": "Sports Games",
    "People/USA_Presidents": "Politics History/American",
    "People/Writers_and_critics": "Books Arts & Entertainment/Theatre Arts & Entertainment/Science",
    "Religion/Divinities": "Religion History/Mythology History/Ancient",
    "Religion/Myths": "History/Mythology Religion",
    "Religion/Philosophy": "History/Philosophy Religion",
    "Religion/Religious": "Religion",
    "Science/Biology/Birds": "Nature/Birds Pets/Small Hobbies/Bird",
    "Science/Biology/Dinosaurs": "Nature/Dino",
    "Science/Biology/Evolution_and_reproduction": "Science/Biology Pregnancy Sexuality Nature",
    "Science/Biology/General_Biology": "Science/Biology Health Nature Science/Neuro",
    "Science/Biology/Health_and_medicine": "Health Mental Addiction Pregnancy Sexuality",
    "Science/Biology/Insects_Reptiles_and_Fish": "Nature/Insects Nature/Fish Nature/Reptiles Pets/Aqua",
    "Science/Biology/Mammals": "Nature/Mammals Pets Nature/Fish",
    "Science/Biology/Organisms": "Nature Science/Biology Health/Diseases",
    "Science/Biology/Plants": "Nature/Plants Garden Food",
    "Science/Chemistry": "Science/Chemistry Science/Materials Science/Physics Business/Energy",
    "Science/Physics/Electricity_and_Electronics": "Electronics Science Business/Energy Computers",
    "Science/Physics/General_Physics": "Science Business/Energy",
    "Science/Physics/Space_Astronomy": "Science/Astronomy Science/Space Hobbies/Astro Science/Physics",
    "Science/Physics/Space_transport": "Science/Space Science/Astronomy",
    "Science/Physics/The_Planets": "Science/Astronomy",
}  # fmt: skip
"""Beginnings of categories, and beginnings of the topics that are right for them."""


def articles_file() -> Path | None:
    """The encyclopaedia beside the project."""
    for ancestor in Path(__file__).resolve().parents[1:]:
        found = ancestor / "shared" / "data" / "wikispeedia_abstracts.jsonl.gz"
        if found.is_file():
            return found
    return None


def articles(file: Path, characters: int = 200) -> list[dict[str, Any]]:
    """The articles: ``text`` is the title and the beginning, ``categories`` a list."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row["categories"] and row["text"]]
    return [row | {"text": f"{row['title']}. {row['text'][:characters]}"} for row in rows]


def accepted(topics: PeopleTopics, categories: list[str]) -> set[int]:
    """The columns of the topics that are right for an article; none where nothing is mapped."""
    tree = topics.people.tree
    labels = [tree.label(topic).removeprefix("Top/") for topic in topics.topics.tolist()]
    beginnings = [
        word.replace("\0", " ")
        for category in categories
        for begins, told in ACCEPTED.items()
        if category.startswith(begins)
        for word in _split(told)
    ]
    return {column for column, label in enumerate(labels) if label.startswith(tuple(beginnings or ["\0"]))}


def _split(told: str) -> list[str]:
    """Topics begin with a name that may hold " & "."""
    return told.replace(" & ", "\0&\0").split()


def right(scores: np.ndarray, truths: list[set[int]], first: int) -> float:
    """The share of texts with a right topic among the first."""
    order = np.argsort(-scores, axis=1)[:, :first]
    return float(np.mean([bool(truth & set(row)) for truth, row in zip(truths, order.tolist(), strict=True)]))


def main() -> None:
    file = articles_file()
    if file is None:
        print("people_topics: the encyclopaedia is absent")
        return
    topics = people_topics()
    found = [(number, row, accepted(topics, row["categories"])) for number, row in enumerate(articles(file))]
    width = np.mean([len(truth) for *_, truth in found if truth])
    print(f"{len(topics.topics)} topics; right for a text: {width:.1f} on average")
    for name, rest in (("development", 1), ("held out", 0)):
        chosen = [(row["text"], truth) for number, row, truth in found if number % 2 == rest and truth]
        truths = [truth for _, truth in chosen]
        texts = [text for text, _ in chosen]
        directions, scores = topics.directions(texts) @ topics.matrix.T, topics.scores(texts)
        for of, compared in (("directions alone", directions), ("with soft words", scores)):
            first, three = (right(compared, truths, count) for count in (1, 3))
            print(f"{name:12} {len(chosen):5} articles   {of:17} first {first:.3f}   three {three:.3f}")
        if rest == 0:
            assert first >= 0.70 and three >= 0.88


if __name__ == "__main__":
    main()
