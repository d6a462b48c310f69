"""What may be sent: topics that pages support, near the query, never sensitive or marked; and density."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit import Guard
from tacit.device import Decision
from tacit.device.profile.arrays import Bags
from tacit.device.ranking.attention import Attention
from tacit.device.ranking.density import Density, lift
from tacit.device.sending.interests import (
    InterestChooser,
    JudgedTexts,
    PassedPages,
    clear,
    neighbours,
    passed_texts,
    supported,
)
from tacit.retrieval import people_topics
from tacit.retrieval.sensitive_pages import PASSED, UNREADABLE, concept_name, page_text, recogniser
from tacit.text.vectors import load_word_table

BIKES = [
    "Gravel bike frames tested",
    "Cleaning a bicycle chain",
    "Mountain bike trails",
    "The peloton climbs",
]
BREAD = ["Sourdough bread with rye", "Flour for bread dough", "Cookies and muffins"]
NAMES = people_topics().people.tree.names


def chosen(texts: list[str], query: str, marks: list[str] = []) -> list[str]:  # noqa: B006
    pages = PassedPages(JudgedTexts(texts))
    pages.refresh([people_topics().people.tree.named(mark) for mark in marks])
    found = InterestChooser(pages, Attention(load_word_table())).choose(query)
    return [NAMES[topic] for topic in found.topics]


def test_a_topic_needs_three_pages_and_a_query_near_it() -> None:
    assert chosen(BIKES + BREAD, "bike shop") == ["Cycling"]
    assert chosen(BIKES + BREAD, "bread") == ["Baking"]
    assert chosen(BIKES + BREAD[:2], "bread") == []
    assert chosen(BIKES + BREAD, "violin") == []


def test_nothing_goes_with_a_sensitive_or_unreadable_query() -> None:
    for query in ("depression", "side effects", "church", "bike fahrradkettenreinigung pflege und"):
        assert chosen(BIKES + BREAD, query) == []
    assert recogniser().concept_of_query("bike shop") == PASSED


SPECIMENS = Path(__file__).parents[2] / "benchmarks" / "specimens"


def person_of(name: str) -> dict[str, list[list[str]]]:
    """The lines of a person's specimen, by their kind."""
    found: dict[str, list[list[str]]] = {"private query": []}
    for line in (SPECIMENS / f"{name}.txt").read_text("utf-8").splitlines():
        if not line.startswith("#"):
            kind, *rest = (part.strip() for part in line.split(" |"))
            found.setdefault(kind, []).append(rest)
    return found


def read_page(title: str, rest: str) -> str:
    """A page's text: its title with a snippet, or with its address."""
    return page_text("", title, "", rest) if rest.startswith("https://") else f"{title} {rest}"


@pytest.mark.parametrize(
    "name", [path.stem for path in sorted(SPECIMENS.glob("*.txt")) if path.stem != "pages"]
)
def test_a_person_sends_what_was_judged_sensible_and_nothing_private(name: str) -> None:
    person = person_of(name)
    pages = passed_texts([read_page(*page) for page in person["page"] + person["private page"]])
    assert not pages.passed[len(person["page"]) :].any()
    chooser, topics, poor = InterestChooser(pages, Attention(load_word_table())), 0, 0
    for query, *sensible in person["query"]:
        sent = {NAMES[topic] for topic in chooser.choose(query).topics}
        assert sent <= {topic.removeprefix("? ") for topic in sensible}, (query, sent)
        topics, poor = topics + len(sent), poor + len(sent & {one[2:] for one in sensible if one[0:1] == "?"})
    assert topics >= 14 and poor <= 0.1 * topics
    assert not any(chooser.choose(query).topics for (query,) in person["private query"])


def test_words_of_searching_take_nothing_along_where_a_page_holds_them() -> None:
    pages = [*BIKES, "Best cycling news 2026: calendar of bike races", "Weather on the peloton's bike tour"]
    for query in ("best", "news", "calendar", "weather", "best news 2026"):
        assert chosen(pages, query) == []
    assert chosen(pages, "peloton") == ["Cycling"]


def test_a_topic_goes_with_a_query_that_has_its_words_not_words_like_them() -> None:
    travel = ["Premier League goals", "Striker joins the football club", "World Cup goalkeeper"]
    assert chosen(travel, "hotel in porto") == []
    assert chosen(travel, "football club") == ["Football"]


def test_a_page_near_something_sensitive_never_decides_alone() -> None:
    """It has the query's word and supports a topic that may be sent, but it may be one that escaped."""
    doubtful = "Zwartberg: peloton bikes, hospital doctors and patients and their knees"
    people = people_topics()
    scores = people.scores([doubtful])[0]
    assert scores.max() > scores[people.people.concept[people.topics] >= 0].max() >= 0.5 * scores.max()
    pages = JudgedTexts([*BIKES, doubtful])
    pages.pages["concept"] = PASSED
    escaped = PassedPages(pages)
    escaped.refresh(())
    assert InterestChooser(escaped, Attention(load_word_table())).choose("zwartberg").topics == ()


def test_a_query_of_unknown_words_is_read_through_the_pages_that_hold_it() -> None:
    assert chosen(BIKES, "zwartberg") == []
    assert chosen([*BIKES, "Zwartberg: a gravel bike race"], "zwartberg") == ["Cycling"]


def test_a_mark_takes_a_topic_and_its_pages_away() -> None:
    assert chosen(BIKES + BREAD, "bike shop", ["Cycling"]) == []
    assert chosen(BIKES + BREAD, "bread", ["Cycling"]) == ["Baking"]


def test_a_page_that_is_also_about_a_marked_topic_supports_no_other() -> None:
    rides = ["Gravel bikes on hiking trails between huts", "Hiking trails where bicycles are allowed"]
    texts = [*rides, "Mountain hut hike with a bike"]
    assert chosen(texts, "hiking") == ["Hiking"]
    assert chosen(texts, "hiking", ["Cycling"]) == []


@pytest.mark.parametrize(("part", "passes"), [(0.76, False), (0.74, True)])
def test_a_page_on_which_a_marked_topic_comes_near_the_best_one_does_not_count(
    part: float, passes: bool
) -> None:
    judged, cycling = JudgedTexts(["Sourdough bread with rye"]), people_topics().people.tree.named("Cycling")
    baking = int(judged.pages["topics"][0, 0])
    judged.pages["topics"][0], judged.pages["scores"][0] = -1, 0
    judged.pages["topics"][0, :4], judged.pages["scores"][0, :4] = (
        (baking, 1, 2, cycling),
        (1, 0.9, 0.8, part),
    )
    pages = PassedPages(judged)
    pages.refresh([cycling])
    assert pages.passed.tolist() == [passes]


FERRY = "Ferries: ferry cabins for sailors"  # Boats & Sailing has 0.87 of the best F, of Cruises & Ferries


def test_a_clear_page_supports_what_comes_near_its_best_topic() -> None:
    people, pages = people_topics().people, passed_texts([FERRY]).pages
    pages["scores"][0, 2:] = 0
    names = [[NAMES[topic] for topic in pages["topics"][0][supported(pages)[1][0]]]]
    pages["scores"][0, 1] = 0.74 * pages["scores"][0, 0]  # now Boats & Sailing comes no longer near
    names.append([NAMES[topic] for topic in pages["topics"][0][supported(pages)[1][0]]])
    pages["scores"][0, :2] = 0.66, 0.64  # near, and below what supports at all
    names.append([NAMES[topic] for topic in pages["topics"][0][supported(pages)[1][0]]])
    assert names == [["Cruises & Ferries", "Boats & Sailing"], ["Cruises & Ferries"], ["Cruises & Ferries"]]
    pages["scores"][0, :3] = 1, 0.9, 0.51
    pages["topics"][0, 2] = np.flatnonzero(people.concept >= 0)[0]
    assert not clear(pages)[0] and supported(pages)[1][0].tolist()[:3] == [True, False, False]
    pages["scores"][0, 2] = 0.49
    assert clear(pages)[0] and supported(pages)[1][0].tolist()[:3] == [True, True, False]


@pytest.mark.parametrize(
    ("best", "second", "too"), [(0.8, 0.66, True), (0.79, 0.66, False), (0.79, 0.68, True)]
)
def test_a_page_that_is_hardly_about_its_best_topic_supports_little_beside_it(
    best: float, second: float, too: bool
) -> None:
    pages = passed_texts([FERRY]).pages
    pages["scores"][0, 2:] = 0
    pages["scores"][0, :2] = best, second
    assert supported(pages)[1][0].tolist()[:2] == [True, too]


def test_what_an_encyclopaedia_says_is_about_its_subject() -> None:
    about = passed_texts(["Impala: encyclopaedia and dictionary of antelopes, mammals of the savanna"]).pages
    best, _ = supported(about)
    named = NAMES[about["topics"][0][0]], NAMES[about["topics"][0][best[0]][0]]
    assert named == ("Reference & Libraries", "Mammals & Wild Animals")


def test_one_page_speaks_for_its_best_topic_alone_and_two_for_what_comes_near() -> None:
    boats = ["A sailing boat with two sails", "Sailing boats on the coast", "Trim the sails of your boat"]
    texts = [*boats, "Ferry to Norway: cruise and ferry prices", "Cruise and ferry tickets", FERRY]
    assert chosen(texts, "sailors cabins") == ["Cruises & Ferries"]
    assert set(chosen([*texts, FERRY], "sailors cabins")) == {"Cruises & Ferries", "Boats & Sailing"}


def test_a_third_topic_that_says_little_catches_no_page() -> None:
    text = "Fahrenheit thermometer: deciding what to wear outside"
    assert concept_name(int(recogniser().concepts_of([text])[0])) is None


def test_latin_names_beside_plain_words_catch_no_page_but_another_language_does() -> None:
    names = "Charadriiformes Charadriidae Vanellinae Pluvialis Thinornis Erythrogonys Phegornis Oreopholus"
    latin = f"Plover species and birds of the shore: {names} Peltohyas"
    swedish = "Fåglar som häckar och övervintrar: birds, bird, plover i Sverige och på Öland"
    maps = "OS map of the Yorkshire Dales: OS Explorer OL2, southern and western area"
    judged = [concept_name(int(one)) for one in recogniser().concepts_of([latin, names, swedish, maps])]
    assert judged == [None, "unreadable", "unreadable", None]


def test_caught_pages_support_nothing() -> None:
    ill = [f"{title} after chemotherapy" for title in BIKES]
    assert len(passed_texts(ill).bags) == 0
    assert chosen(ill + BREAD, "bike shop") == []


def test_sensitive_topics_and_neighbours_are_never_sendable() -> None:
    people = people_topics()
    flags = passed_texts(BIKES * 4 + BREAD * 4).sendable(people)
    assert not flags[people.people.concept >= 0].any()
    assert not flags[list(neighbours())].any()


def test_a_neighbour_is_not_sent_however_many_pages_support_it() -> None:
    """Texts about sensitive matters land there when they escape."""
    pages, tree = passed_texts(["Dividend shares and etfs on the stock exchange"] * 4), people_topics().people
    (topic,) = np.flatnonzero(pages.supports(len(tree.tree)) == 4)
    assert topic in neighbours()
    assert not pages.sendable(people_topics()).any()


@pytest.mark.parametrize(
    ("text", "concept"),
    [
        ("Chlamydia test at home", "Health"),
        ("Grindr download", "Sexuality"),
        ("Baking for diabetics: sugar free cakes", "Health"),  # the plural of a telling word
        ("Panic attacks at night", "Mental Health"),
        ("Debt collector at the door", "Money Troubles"),
        ("Wie man eine Fahrradkette reinigt und was man dazu braucht", "unreadable"),
        ("", "unreadable"),
        ("Cleaning a bicycle chain", None),
        ("Bridge basics: opening one no trump with a balanced hand", None),  # a word of card games
        ("Trump on the bridge: a balanced hand", "Politics"),
        ("Bleeding radiators step by step with key and cloth", None),
        ("Bleeding after the operation", "Health"),
        ("Kita Anmeldung: Formular und Gutschein", "unreadable"),  # a foreign word, and little is known
        ("La Liga fixtures", None),
    ],
)
def test_what_is_recognised(text: str, concept: str | None) -> None:
    assert concept_name(int(recogniser().concepts_of([text])[0])) == concept


def test_a_word_that_an_innocent_topic_has_too_tells_nothing_of_a_query_plainly_about_it() -> None:
    concepts = [
        concept_name(recogniser().concept_of_query(query)) for query in ("no trump", "trump", "depression")
    ]
    assert concepts == [None, "Politics", "Mental Health"]


def test_a_short_text_must_exceed_the_threshold_and_a_last_word_counts_once() -> None:
    judge = recogniser()
    for text, passes in (("U3A: local interest groups", True), ("Salaries, wages and dismissal", False)):
        excess = float((judge.evidence([text], judge.topics.scores([text])) - judge._thresholds).max())
        assert excess >= 0 and (excess < 1 / len(judge.topics.table.content(text))) is passes
        assert bool(judge.concepts_of([text])[0] == PASSED) == passes
    assert list(judge._telling_in("a long walk to the bankruptcy", None)) == [
        judge.concepts.index("Money Troubles")
    ]


def test_the_list_says_how_well_each_concept_is_recognised() -> None:
    listed = recogniser().described()
    assert len(listed) == 12
    assert all(concept.covers and concept.examples and concept.recognised for concept in listed)
    assert concept_name(UNREADABLE) == "unreadable" and concept_name(PASSED) is None


def test_density_grows_as_pages_come_as_if_all_came_at_once() -> None:
    texts = [f"{one} {other}" for one in BIKES + BREAD for other in BIKES]
    whole, grown = Density(), Density()
    bags = Bags.of_texts(load_word_table(), texts)
    whole.refresh(bags)
    for size in (5, 6, 20, len(texts)):
        grown.refresh(Bags.of_texts(load_word_table(), texts[:size]))
    np.testing.assert_allclose(grown.values, whole.values, atol=1e-5)


def test_density_is_the_mean_likeness_of_the_eight_nearest_pages_over_a_background() -> None:
    history, density = Bags(load_word_table()), Density()
    rows = np.random.default_rng(3).normal(0.5, size=(300, 100)).astype(np.float32)
    history.senses, history.squares = rows, np.ones(300, np.float32)
    density.refresh(history)
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    background = np.sort(rows @ rows[::2].T, axis=1)[:, 15]
    assert background.mean() > 0.05
    alike = rows @ rows.T - 9 * np.eye(300)
    expected = np.sort(alike, axis=1)[:, -8:].mean(axis=1) - background
    np.testing.assert_allclose(density.values, expected, atol=1e-5)


def test_a_page_that_is_somewhat_like_everything_is_in_no_dense_part() -> None:
    """What a page shares with the whole history is its background rate."""
    random = np.random.default_rng(4)
    common, kind = np.eye(80, dtype=np.float32)[:2]
    anything = random.normal(size=(120, 80)) / 9 + 1.2 * common
    alike = random.normal(size=(12, 80)) / 9 + 1.2 * kind
    history, density = Bags(load_word_table()), Density()
    history.senses, history.squares = (
        np.vstack((anything, alike)).astype(np.float32),
        np.ones(132, np.float32),
    )
    density.refresh(history)
    assert density._top.mean(axis=1)[:120].max() > density._top.mean(axis=1)[120:].min()
    assert density.values[:120].max() < density.values[120:].min()


@pytest.mark.parametrize("others_are_near", [False, True])
def test_the_dense_part_speaks_only_where_it_is_nearer_to_the_results_than_the_rest(
    others_are_near: bool,
) -> None:
    random = np.random.default_rng(2)

    def pointing(share: float, count: int) -> np.ndarray:
        """Directions with this cosine to one of their dimensions, and anything else."""
        rows = np.hstack((np.zeros((count, 1)), random.normal(size=(count, 49))))
        rows *= np.sqrt(1 - share**2) / np.linalg.norm(rows, axis=1, keepdims=True)
        rows[:, 0] = share
        return rows.astype(np.float32)

    results = np.vstack((pointing(0.3, 10), pointing(0, 10)))
    history = Bags(load_word_table())
    history.senses = np.vstack((pointing(0.9, 15), pointing(0.8 if others_are_near else 0, 60)))
    history.squares = np.ones(75, np.float32)
    density = Density()
    density.refresh(history)
    values = lift(results, history.senses, density, np.maximum(0, results @ results.T)).values
    if others_are_near:
        assert not values.any()
    else:
        assert values[:10].mean() > 1 > 0 > values[10:].mean()


def test_results_are_lifted_as_defined() -> None:
    """The formulas of the module, written out."""
    random = np.random.default_rng(6)
    kind = np.eye(30)[0]
    rows = [random.normal(size=(count, 30)) / 6 + share * kind for count, share in ((20, 1), (60, 0))]
    history, density = Bags(load_word_table()), Density()
    history.senses = np.vstack(rows).astype(np.float32)
    history.senses /= np.linalg.norm(history.senses, axis=1, keepdims=True)
    history.squares = np.ones(80, np.float32)
    shown = np.vstack((random.normal(size=(12, 30)) / 6 + 0.4 * kind, random.normal(size=(12, 30)) / 6))
    shown = (shown / np.linalg.norm(shown, axis=1, keepdims=True)).astype(np.float32)
    likeness = np.abs(random.normal(size=(24, 24))).astype(np.float32)
    likeness = likeness + likeness.T
    density.refresh(history)
    found = lift(shown, history.senses, density, likeness.copy())

    alike = shown @ history.senses.T
    relevance = np.sort(np.maximum(0, alike), axis=0)[-8:].mean(axis=0)
    score = (density.values / density.values.max()) ** 10 * relevance**2
    weights = np.where(score >= np.sort(score)[-15], score, 0)
    weights /= weights.sum()
    near = alike @ weights - alike.mean(axis=1)
    gate = (np.log(weights @ relevance / relevance.mean()) - 0.25) / 0.08
    assert gate > 1
    np.fill_diagonal(likeness, 0)
    joined = np.where(likeness >= np.sort(likeness, axis=1)[:, [-5]], likeness, 0)
    joined = joined + joined.T
    joined = joined / np.sqrt(np.outer(joined.sum(axis=0), joined.sum(axis=1)))
    handed = sum(np.linalg.matrix_power(joined, power) for power in range(9)) @ (near - near.mean())
    np.testing.assert_allclose(found.values, 15 * (handed - handed.mean()), atol=1e-3)
    assert found.pages.tolist() == np.flatnonzero(weights).tolist()


def test_titles_that_end_as_many_do_are_no_dense_part() -> None:
    """Any results are near to what stands on every second page of the web."""
    lines = (SPECIMENS / "shopkeeper.txt").read_text("utf-8").splitlines()
    titles = [line.split(" | ")[1] for line in lines if line.startswith("page | ")]
    ends = ("Official Site", "Online Shop", "Home Page", "Free Download", "Login", "YouTube")
    read = [f"{title} - {ends[number % 6]}" for number, title in enumerate(titles)]
    some = [f"Aida {word} official web site, online login" for word in ("opera", "cruise", "hair", "boat")]
    some += [f"Aida {word} written in verse by a king" for word in ("song", "legend", "tale", "play")]
    table, density = load_word_table(), Density()
    attended = Attention(table).attend("aida", *(Bags.of_texts(table, x) for x in (some, read)), density)
    assert attended.lift is not None and not attended.lift.values.any()


def test_pages_without_the_querys_words_raise_results_like_them() -> None:
    history = [
        f"{one} {other}"
        for one in BIKES
        for other in ("derailleur pedals", "cyclists racing", "helmet wheel")
    ]
    history += [*BREAD, "Opera in Vienna", "Tax return forms", "Volcano in Iceland", "Wine from Spain"]
    history += [
        "Heat pump costs",
        "Jazz trumpet",
        "Tomatoes on balconies",
        "Chess openings",
        "Roman emperors",
    ]
    other = [
        "restaurants open",
        "of command in armies",
        "stores in retail",
        "reaction in physics",
        "gold necklace",
    ]
    about = ["derailleur bicycles", "cycling cyclists", "bicycle pedals", "racing bikes", "helmet bike wheel"]
    results = [f"Chain {words}" for words in (*other, *other, *about)]
    table = load_word_table()
    attention, density = Attention(table), Density()
    read = Bags.of_texts(table, [text.replace("chain", "") for text in history])
    attended = attention.attend("chain", Bags.of_texts(table, results), read, density)
    assert set(attention.order(attended)[:5].tolist()) == set(range(10, 15))
    # A result that says nothing of it rises with those whose words it shares, though these have no vectors.
    named = [f"{text} Zyxgear" for text in results[10:]]
    others = [f"{text} Qwertzel" for text in results[:10]]
    shown = ["Chain Qwertzel", *others, "Chain Zyxgear", *named]
    attended = attention.attend("chain", Bags.of_texts(table, shown), read, Density())
    assert attended.lift is not None
    assert attended.lift.values[11] > 1 > 0 > attended.lift.values[0]
    assert attention.order(attended).tolist().index(11) < 7


def test_ingredients_are_no_interest() -> None:
    recipes = [
        "Banana bread with three ripe bananas",
        "Carrot cake with orange and lemon",
        "Apple muffins, flour and butter",
    ]
    assert chosen(recipes, "bananas") == chosen(recipes, "carrot cake") == ["Baking"]
    assert chosen(["Apples and pears", "A bowl of oranges", "Bananas and mangos"], "apples") == []


def test_a_place_is_never_sent() -> None:
    assert chosen(["London and England", "Scotland and Wales", "Glasgow and Dublin"], "scotland") == []


def test_a_site_that_holds_pages_about_anything_says_nothing() -> None:
    assert "youtube" not in page_text("", "Kickflip", "in slow motion", "https://www.youtube.com/watch?v=1")
    assert "rosary" in page_text("", "Beads", "", "https://www.rosary.example/order")


def test_a_word_that_stands_by_chance_on_one_page_sends_nothing() -> None:
    walks = [
        "Lake District: easy walks round Grasmere, flat paths and tea rooms",
        "Best walking boots for wide feet",
        "Nordic walking: length of the poles",
    ]
    assert chosen(walks, "grasmere") == ["Walking & Nordic Walking"]
    assert chosen(walks, "tea rooms") == []


def test_pages_that_were_caught_make_no_topic_too_rare_to_be_sent() -> None:
    assert chosen([*BIKES[:3], *["Antidepressants for depression"] * 400], "bike shop") == ["Cycling"]
    innocent = [f"Sourdough bread with rye {number}" for number in range(400)]
    assert chosen([*BIKES[:3], *innocent], "bike shop") == []


def test_a_twin_of_a_marked_topic_stays_where_its_pages_pass() -> None:
    assert chosen(BIKES, "bike shop", ["Weather"]) == ["Cycling"]
    assert chosen(BIKES, "bike shop", ["Horses & Riding"]) == []


def test_a_marked_topic_stays_where_other_things_are_only_mentioned_first() -> None:
    recipe = "Basil, thyme and rosemary with apples, plums, butter, cream cheese, ham and chicken"
    pages = [f"{recipe}, number {number}" for number in ("one", "two", "three")]
    assert chosen(pages, "recipe") == ["Cooking & Recipes"]
    assert chosen(pages, "recipe", ["Cooking & Recipes"]) == []


def test_no_topic_goes_with_a_query_that_is_sensitive_and_near_an_interest() -> None:
    assert chosen(BIKES, "bicycle club") == ["Cycling"]
    assert chosen(BIKES, "gay bicycle club") == []


def test_pages_that_escaped_support_no_sensitive_topic() -> None:
    judged = JudgedTexts(["Antidepressants against depression and anxiety"] * 4)
    judged.pages["concept"] = PASSED
    pages = PassedPages(judged)
    pages.refresh(())
    people = people_topics()
    assert pages.supports(len(people.people.tree)).sum() == 4
    assert not pages.sendable(people).any()


def test_a_guard_sends_nothing_before_the_list_is_seen_and_heeds_marks_of_another(tmp_path: Path) -> None:
    with Guard(tmp_path / "p") as guard, Guard(tmp_path / "p") as other:
        guard.learn(("", {"url": "", "title": title}, None) for title in BIKES)
        assert guard.preview("bike shop").reason == Decision.UNCONFIRMED and not guard.preview("bike").sent
        other.confirm()
        assert guard.preview("bike shop").names == ("Cycling",)
        other.mark("Cycling")
        assert guard.preview("bike shop").names == ()
