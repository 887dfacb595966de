import random

import pytest

from pipelines.toy.clause import Clause, english_present, german_finite
from pipelines.toy.grammar import Phrase, Sentence
from pipelines.toy.words import BE, HAVE, TIMES, WITH_PERSON

THEY, SHE = Phrase(["they"], ["sie"], plural=True), Phrase(["she"], ["sie"])
SEE = next(verb for verb in WITH_PERSON if verb.english[0] == "see")


@pytest.fixture(scope="module")
def clauses():
    return [Clause(Sentence(random.Random(seed))) for seed in range(300)]


def test_verbs_agree_with_their_subjects():
    assert [english_present(SEE, subject) for subject in (THEY, SHE)] == ["see", "sees"]
    assert [german_finite(SEE.german, subject) for subject in (THEY, SHE)] == ["sehen", "sieht"]
    assert [german_finite(BE, subject) for subject in (THEY, SHE)] == ["sind", "ist"]
    assert [german_finite(HAVE, subject) for subject in (THEY, SHE)] == ["haben", "hat"]


def test_the_finite_verb_is_first_second_or_last_and_all_orders_have_the_same_words(clauses):
    for clause in clauses:
        finite, _ = clause.german_verbs()
        subject, main = clause.subject.german, clause.german_main()
        question, subordinate = clause.german_question(), clause.german_subordinate()
        assert main[: len(subject) + 1] == [*subject, finite]
        assert question[0] == subordinate[-1] == finite
        assert sorted(question) == sorted(subordinate) == sorted(main)
        if clause.time:
            german = clause.german_main(time_in_front=True)
            assert german[:2] == [TIMES[clause.tense][clause.time], finite]
            assert clause.english(time_in_front=True)[:2] == [clause.time, ","]
    assert any(clause.time for clause in clauses)


def test_a_clause_keeps_to_the_tense_it_is_given():
    for seed in range(50):
        sentence = Sentence(random.Random(seed))
        assert Clause(sentence, with_tense="past").tense == "past"
        assert Clause(sentence, with_tense="present").tense in ("present", "modal")
