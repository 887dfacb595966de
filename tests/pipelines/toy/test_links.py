from itertools import islice

from pipelines.toy.grammar import aligned_sentences


def test_words_of_one_meaning_are_linked():
    expected = (
        "The bird found these small gifts in the garden.",
        "Der Vogel hat diese kleinen Geschenke im Garten gefunden.",
        "0-0 1-1 2p2 2-8 3-3 4-4 5-5 6-6 6p7 7p6 7p7 8p6 8-7",
    )
    assert expected in islice(aligned_sentences("test", 5), 500)
