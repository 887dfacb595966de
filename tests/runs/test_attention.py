import numpy as np
import pytest


def words_of(heads):
    return {each.name: (list(each.queries), list(each.keys)) for each in heads}


def test_the_heads_of_every_sub_layer_are_between_words(run):
    attention = run.attention("The <b> horse sleeps.", "Das Pferd 日.")
    assert attention.source == "The <b> horse sleeps."
    assert attention.translation == "Das Pferd 日."
    source = ["The", "<b>", "horse", "sleeps.", "</s>"]
    written, read = ["Das", "Pferd", "日.", "</s>"], ["<s>", "Das", "Pferd", "日."]
    assert words_of(attention.heads) == {
        "encoder-1-self_attention": (source, source),
        "decoder-1-self_attention": (written, read),
        "decoder-1-cross_attention": (written, source),
    }
    for heads in attention.heads:
        assert heads.weights.shape == (2, len(heads.queries), len(heads.keys))
        np.testing.assert_allclose(np.sum(heads.weights, -1), 1, rtol=1e-5)


def test_heads_may_be_between_pieces(run):
    attention = run.attention("The horse sleeps.", "Das Pferd 日.", pieces=True)
    queries, keys = words_of(attention.heads)["decoder-1-cross_attention"]
    assert "<0xE6>" in queries and queries[-1] == "</s>"
    assert "".join(keys) == "▁The▁horse▁sleeps.</s>"


def test_texts_beyond_the_learned_positions_are_refused(learned_positions):
    for texts, message in {
        ("a " * 100,): r"positions for 40 tokens. Received: \d+ tokens. Shorten the sentence",
        ("A dog.", "z " * 100): r"positions for 40 tokens. Received: \d+ tokens",
    }.items():
        with pytest.raises(ValueError, match=message):
            learned_positions.attention(*texts)
    assert learned_positions.attention("A dog.", "Ein Hund.").heads
