"""Make what the recogniser of the sensitive is bundled with.

    python scripts/build_recogniser.py

Reads the hand-written words and names, WordNet's nouns, and the encyclopaedia beside the project (innocent
articles with odd numbers only; see ``benchmarks/recognition.py``), and the everyday pages of the people of
``benchmarks/specimens``. Writes ``telling.txt``, ``neighbours.txt`` and ``recogniser.npz``:

- telling words: hand-written names and words of a concept that at most one innocent article holds, with their
  plurals, and single-word lemmas of WordNet, all of whose meanings lie below the concept's roots, that none
  holds;
- a regression a concept, trained on the glosses below half of its roots' meanings and on its hand-written
  words, against the glosses of other meanings, the words of innocent topics, innocent articles and pages;
- thresholds: the mean of equal quantiles of innocent articles and pages, so that 3% are caught in all.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from recognition import DEVELOPMENT, innocent_articles, pages, people, sensitive_articles  # noqa: E402
from tacit.device.sending.interests import SUPPORTS  # noqa: E402
from tacit.retrieval.people_topics import people_topics  # noqa: E402
from tacit.retrieval.sensitive_pages import PASSED, Recogniser  # noqa: E402
from tacit.taxonomy import load_wordnet  # noqa: E402
from tacit.taxonomy.people import Phrase, people_lines, phrase_of  # noqa: E402
from tacit.text.tokens import STOP_WORDS, words  # noqa: E402

TO = ROOT / "src" / "tacit" / "data" / "people"
INNOCENT = 0.05
COMMON = 12
"""A word that stands in more glosses of innocent meanings tells nothing by itself."""
AMBIGUOUS = frozenset(
    """
    cv lsd killer killers assault syndrome carnage impersonator hickey gimp buccaneer corsair hospitals
    demonstration treatments teens sexy grandfather sleeper shrine lonely roma kita latina suspects assassin
    constable beggar sativa indica statute hinges kinks trumps cribs fosters runaways conceptions eyeballs
    shrines pleas seminoles hardships gps gurus scag mono gladstone heist confederations pickets cartels
    """.split()
)
"""Words of a concept that stand in too many pages about something else to tell it by themselves: ships,
bands, games and their villains have such names."""
LANDING, LIFT, FEWEST_TEXTS = 0.002, 3.0, 2
OTHERS = 6_000
PENALTY = 30.0

ROOTS = {
    "Addiction": (
        "addiction.n.01 drug_of_abuse.n.01 addict.n.01 drug_addiction.n.01 drunkard.n.01 gambling.n.01 "
        "gambler.n.01 smoker.n.01 tobacco.n.01 alcoholism.n.01 narcotic.n.01 hallucinogen.n.01 "
        "stimulant.n.02 cigarette.n.01 drinker.n.02 cigar.n.01 controlled_substance.n.01 cannabis.n.02 "
        "opiate.n.01"
    ),
    "Children": (
        "child.n.01 child.n.02 baby.n.01 juvenile.n.01 adolescent.n.01 orphan.n.01 baby_bed.n.01 "
        "childhood.n.01 nursery.n.01 toddler.n.01 kindergarten.n.01 diaper.n.01 preschool.n.01 "
        "schoolchild.n.01 adolescence.n.01"
    ),
    "Crime & Law": (
        "crime.n.01 criminal.n.01 court.n.01 lawyer.n.01 judge.n.01 lawsuit.n.01 prison.n.01 prisoner.n.01 "
        "law.n.01 law.n.02 proceeding.n.01 correctional_institution.n.01 legal_code.n.01 homicide.n.01 "
        "legal_action.n.01 trial.n.02 legal_document.n.01 wrongdoer.n.01"
    ),
    "Employer & Job Search": (
        "employment.n.02 employer.n.01 wage.n.01 dismissal.n.02 resignation.n.01 job.n.02 recruiter.n.01 "
        "application.n.02 job_candidate.n.01 discharge.n.05"
    ),
    "Health": (
        "disease.n.01 symptom.n.01 injury.n.01 medicine.n.02 medical_procedure.n.01 ill_health.n.01 "
        "pathology.n.02 medical_practitioner.n.01 hospital.n.01 disorder.n.01 vaccine.n.01 infection.n.01 "
        "dentistry.n.01 medical_care.n.01 patient.n.01 medical_science.n.01"
    ),
    "Mental Health": (
        "mental_disorder.n.01 psychotherapy.n.01 psychotherapy.n.02 depression.n.01 anxiety.n.01 "
        "phobia.n.01 antidepressant.n.01 tranquilizer.n.01 psychiatrist.n.01 mental_illness.n.01 "
        "neurosis.n.01 psychiatry.n.01 mental_hospital.n.01 suicide.n.01"
    ),
    "Money Troubles": (
        "debt.n.01 debt.n.02 insolvency.n.01 poverty.n.01 poor_person.n.01 bankruptcy.n.01 debtor.n.01 "
        "default.n.02 unemployment.n.01 eviction.n.01 foreclosure.n.01 pauper.n.01 social_welfare.n.01 "
        "bankrupt.n.01"
    ),
    "Origin & Ethnicity": (
        "ethnic_group.n.01 race.n.03 african.n.01 asian.n.01 person_of_color.n.01 amerindian.n.01 "
        "migrant.n.01 refugee.n.01 racism.n.01 tribe.n.02 immigrant.n.01 racist.n.01 exile.n.01 "
        "segregation.n.01"
    ),
    "Politics": (
        "politician.n.01 politician.n.02 politics.n.01 political_orientation.n.01 party.n.01 "
        "legislature.n.01 election.n.01 vote.n.01 head_of_state.n.01 political_movement.n.01 politics.n.02 "
        "political_system.n.01 union.n.01 strike.n.01 minister.n.02 legislator.n.01 radical.n.03 "
        "reformer.n.01 socialist.n.01 communist.n.01"
    ),
    "Pregnancy & Family Troubles": (
        "pregnancy.n.01 birth.n.01 abortion.n.01 divorce.n.01 obstetrics.n.01 midwife.n.01 embryo.n.02 "
        "fetus.n.01 birth_control.n.01 fertility.n.02 adultery.n.01 adoption.n.02 alimony.n.01 "
        "childbirth.n.01"
    ),
    "Religion": (
        "religion.n.01 religion.n.02 religious_person.n.01 clergyman.n.01 place_of_worship.n.01 "
        "sacred_text.n.01 worship.n.01 theology.n.01 church.n.01 religious_ceremony.n.01 "
        "religious_leader.n.01 religious_movement.n.01 religious_residence.n.01 prayer.n.01 sacrament.n.01 "
        "vestment.n.01 saint.n.01"
    ),
    "Sexuality": (
        "sexual_activity.n.01 homosexual.n.01 contraceptive.n.01 prostitute.n.01 pervert.n.01 "
        "libertine.n.01 paraphilia.n.01 perversion.n.02 pornography.n.01 homosexuality.n.01 "
        "sexual_desire.n.01"
    ),
}
"""WordNet's meanings that a concept covers, with all below them."""


def below(concept: str) -> set[int]:
    """WordNet's meanings below a concept's roots."""
    wordnet = load_wordnet()
    found: set[int] = set()
    for name in ROOTS[concept].split():
        root = wordnet.find(name)
        if root is not None:
            found.update(range(root, int(wordnet.tree.end[root])))
    plants = wordnet.find("plant_disease.n.01")  # a gardener's trouble, no person's health
    return found if plants is None else found.difference(range(plants, int(wordnet.tree.end[plants])))


def telling_words(concepts: tuple[str, ...], innocent: list[str]) -> dict[str, list[Phrase]]:
    """The words and names that tell each concept by themselves."""
    wordnet, topics = load_wordnet(), people_topics()
    held: dict[str, int] = {}
    texts = [f" {' '.join(word.removesuffix(chr(39) + 's') for word in words(text))} " for text in innocent]
    for text in texts:
        for word in set(text.split()):
            held[word] = held.get(word, 0) + 1
    named, meanings = dict(people_lines("sensitive.txt")), {one: below(one) for one in concepts}
    everywhere = set().union(*meanings.values())
    senses: dict[str, set[int]] = {}
    surnames = set()
    for number, (lemmas, _) in enumerate(wordnet.entries()):
        for lemma in lemmas:
            senses.setdefault(lemma.lower(), set()).add(number)
            if lemma[0].isupper() and any(whole.endswith(f" {lemma}") for whole in lemmas):
                surnames.add(lemma.lower())
    glosses: dict[str, int] = {}
    for number, (_, gloss) in enumerate(wordnet.entries()):
        if number not in everywhere:
            for word in set(words(gloss)):
                glosses[word] = glosses.get(word, 0) + 1
    found: dict[str, list[Phrase]] = {}
    taken: set[Phrase] = set()
    for concept in concepts:
        own = [
            p
            for t, told in topics.people.words.items()
            if topics.people.sensitive(t) == concept
            for p in told
        ]
        kept = []
        hand = list(dict.fromkeys((*named[concept], *own)))
        for phrase in hand:
            count = (
                held.get(phrase[0], 0)
                if len(phrase) == 1
                else sum(f" {' '.join(phrase)} " in t for t in texts)
            )
            single = len(phrase) == 1
            common = single and (
                glosses.get(phrase[0], 0) > COMMON or phrase[0] in STOP_WORDS or phrase[0] in AMBIGUOUS
            )
            if count <= (phrase in named[concept]) and not common and phrase not in {*taken, *kept}:
                kept.append(phrase)
                plural = f"{phrase[0]}s"
                if single and phrase[0] in senses and topics.table.number(plural) < len(topics.table):
                    hand.append((plural,))
        for lemma, numbers in senses.items():
            phrase = phrase_of(lemma) if lemma.isalpha() else ()
            tells = (
                len(phrase) == 1 and len(lemma) > 3 and numbers & meanings[concept] and numbers <= everywhere
            ) and lemma not in AMBIGUOUS | surnames
            if tells and not held.get(lemma) and not glosses.get(lemma) and phrase not in {*taken, *kept}:
                kept.append(phrase)
        taken.update(kept)
        found[concept] = kept
    return found


def regression(features: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """A logistic regression with both classes weighing alike, by Newton's method."""
    weight = np.where(positive, 0.5 / positive.sum(), 0.5 / (~positive).sum()) * len(positive)
    theta = np.zeros(features.shape[1])
    ridge = np.full(features.shape[1], PENALTY)
    ridge[-1] = 1e-3
    for _ in range(25):
        chance = 1 / (1 + np.exp(-np.clip(features @ theta, -30, 30)))
        slope = features.T @ (weight * (chance - positive)) + ridge * theta
        curve = (features * (weight * chance * (1 - chance))[:, None]).T @ features + np.diag(ridge)
        theta -= np.linalg.solve(curve, slope)
    return theta


def neighbours(judge: Recogniser, innocent: list[str]) -> list[str]:
    """Innocent topics that texts about a sensitive concept support when they escape.

    Of the abstracts, pages and glosses about a concept at least :data:`LANDING` must pass the recogniser and
    support the topic, and :data:`LIFT` times as many as of innocent texts. Abstracts and pages are what
    people read: they count as much as all glosses together.
    """
    wordnet, read = load_wordnet(), sensitive_articles(DEVELOPMENT)
    meanings = {one: sorted(below(one)) for one in judge.concepts}
    everywhere = {number for several in meanings.values() for number in several}
    others = sorted(set(range(len(wordnet))) - everywhere)

    def landing(texts: list[str], numbers: list[int]) -> tuple[np.ndarray, np.ndarray]:
        glosses = [f"{' '.join(wordnet.lemmas(number))} {wordnet.gloss(number)}" for number in numbers]
        rates, texts_in_all = np.zeros((2, len(judge.topics.topics)))
        for kind in (texts, glosses):
            scores = judge.topics.scores(kind)
            passed = (judge.concepts_of(kind, scores) == PASSED) & (scores.max(axis=1) >= SUPPORTS)
            counts = np.bincount(scores.argmax(axis=1)[passed], minlength=len(rates))
            rates += counts / len(kind) / 2
            texts_in_all += counts
        return rates, texts_in_all

    usual, _ = landing(innocent, others[:: len(others) // OTHERS])
    found = set()
    for concept, shown in pages(DEVELOPMENT).items():
        if concept != "-":
            rates, counts = landing(read.get(concept, []) + shown, meanings[concept])
            lifted = (rates >= LANDING) & (rates >= LIFT * usual) & (counts >= FEWEST_TEXTS)
            found.update(np.flatnonzero(lifted).tolist())
    tree = judge.topics.people.tree
    return [tree.names[judge.topics.topics[column]] for column in sorted(found)]


def main() -> None:
    topics, wordnet = people_topics(), load_wordnet()
    concepts = topics.people.concepts
    innocent = innocent_articles(DEVELOPMENT)
    everyday = people()["page"]
    telling = telling_words(concepts, [*innocent, *pages(DEVELOPMENT)["-"]])
    head = "# Made by scripts/build_recogniser.py: words and names that tell a concept by themselves.\n"
    lines = [f"{one}: {' '.join('-'.join(phrase) for phrase in telling[one])}\n" for one in concepts]
    (TO / "telling.txt").write_text(head + "".join(lines))

    texts, labels = [*innocent, *everyday], []
    meanings = {one: below(one) for one in concepts}
    everywhere = set().union(*meanings.values())
    for topic, words_of in topics.people.words.items():
        if topics.people.sensitive(topic) is None:
            own = [" ".join(phrase) for phrase in words_of]
            texts += [" ".join(own[begin : begin + 4]) for begin in range(0, len(own), 4)]
    labels += [-1] * (len(texts) - len(labels))
    for place, one in enumerate(concepts):
        chosen = sorted(meanings[one])[::2]
        texts += [f"{' '.join(wordnet.lemmas(number))} {wordnet.gloss(number)}" for number in chosen]
        own = [
            " ".join(w)
            for t, told in topics.people.words.items()
            if topics.people.sensitive(t) == one
            for w in told
        ]
        texts += [" ".join(own[begin : begin + 4]) for begin in range(0, len(own), 4)]
        labels += [place] * (len(texts) - len(labels))
    others = [number for number in range(len(wordnet)) if number not in everywhere]
    for number in others[:: len(others) // OTHERS]:
        texts.append(f"{' '.join(wordnet.lemmas(number))} {wordnet.gloss(number)}")
        labels.append(-1)
    judge = Recogniser(
        topics, {}, np.zeros((len(concepts), 1), np.float32), np.zeros(len(concepts), np.float32)
    )
    label = np.array(labels)
    features = judge.features(texts, topics.scores(texts)).astype(np.float64)
    weights = np.array([regression(features, label == place) for place in range(len(concepts))], np.float32)

    judge = Recogniser(topics, {}, weights, np.zeros(len(concepts), np.float32))
    evidence = [judge.evidence(kind, topics.scores(kind)) for kind in (innocent, everyday)]
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        thresholds = np.mean([np.quantile(kind, 1 - middle, axis=0) for kind in evidence], axis=0)
        caught = np.mean([(kind >= thresholds).any(axis=1).mean() for kind in evidence])
        low, high = (low, middle) if caught > INNOCENT else (middle, high)
    np.savez_compressed(
        TO / "recogniser.npz", weights=weights.astype(np.float16), thresholds=thresholds.astype(np.float32)
    )
    told = {phrase: place for place, one in enumerate(concepts) for phrase in telling[one]}
    near = neighbours(Recogniser(topics, told, weights, thresholds.astype(np.float32)), innocent)
    (TO / "neighbours.txt").write_text(
        "# Made by scripts/build_recogniser.py: innocent topics where texts about sensitive matters land.\n"
        + "".join(f"{name}\n" for name in near)
    )
    print(len(near), "neighbours:", ", ".join(near))
    print(
        {one: len(telling[one]) for one in concepts},
        len(innocent),
        "innocent;",
        len(texts),
        "texts trained on",
    )


if __name__ == "__main__":
    main()
