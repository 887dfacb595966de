from itertools import islice

import pytest

from pipelines.toy.grammar import aligned_sentences

ALIGNED = list(islice(aligned_sentences("test", 5), 500))


@pytest.mark.parametrize(
    ("english", "german", "expected"),
    [
        (
            "The women do not forget my big bags although he forgets books.",
            "Die Frauen vergessen meine großen Taschen nicht, obwohl er Bücher vergisst.",
            "0-0 1-1 2p2 3-6 4-2 5-3 6-4 7-5 8-7 9-8 10-10 11-9",
        ),
        (
            "Our old woman does not want to give the small bird the lamp.",
            "Unsere alte Frau will dem kleinen Vogel die Lampe nicht geben.",
            "0-0 1-1 2-2 3p3 4-9 5-3 6p3 7-10 8-4 9-5 10-6 11-7 12-8",
        ),
        (
            "The bird found these small gifts in the garden.",
            "Der Vogel hat diese kleinen Geschenke im Garten gefunden.",
            "0-0 1-1 2p2 2-8 3-3 4-4 5-5 6-6 6p7 7p6 7p7 8p6 8-7",
        ),
    ],
)
def test_words_of_one_meaning_are_linked(english, german, expected):
    assert (english, german, expected) in ALIGNED


def test_every_word_has_a_link_and_every_index_a_word():
    for english, german, links in ALIGNED:
        places = [link.replace("p", "-").split("-") for link in links.split()]
        for side, text in enumerate((english, german)):
            assert {int(place[side]) for place in places} == set(range(len(text.split())))
