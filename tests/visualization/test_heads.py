"""Weights between sub-words become weights between words."""

import numpy as np
import pytest
from support.models.attention_weights import READ, SOURCE, WRITTEN, sub_layer_weights

from t2t_keras.visualization.heads import heads_of, joined


def test_joined_weights_match_a_calculation_by_hand():
    pieces = [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.0, 0.4, 0.6]]
    expected = [[0.3, 0.7], [(0.5 + 0.3 + 0.0 + 0.4) / 2, (0.2 + 0.6) / 2]]
    # Queries: a word of one piece, then one of two. Keys: the other way round.
    np.testing.assert_allclose(joined(pieces, [1, 2], [2, 1]), expected)


def test_words_that_do_not_fit_the_weights_are_refused():
    with pytest.raises(ValueError, match=r"must be \[\.\.\., 3, 4\]\. Received: .* \(5, 4\)"):
        joined(np.ones((5, 4)), [1, 2], [4])


def test_each_kind_of_attention_has_its_own_words():
    by_name = {heads.name: heads for heads in heads_of(sub_layer_weights(), SOURCE, READ, WRITTEN)}
    source, read, written = ([word for word, _ in words] for words in (SOURCE, READ, WRITTEN))
    words = {name: (each.queries, each.keys) for name, each in by_name.items() if each.layer == 2}
    assert words == {
        "encoder-2-self_attention": (source, source),
        "decoder-2-self_attention": (written, read),
        "decoder-2-cross_attention": (written, source),
    }
    assert len(by_name) == 6
    for heads in by_name.values():
        assert heads.weights.shape == (2, 3, 3)
        np.testing.assert_allclose(heads.weights.sum(-1), 1, rtol=1e-6)
