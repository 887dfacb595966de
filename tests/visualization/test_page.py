"""The attention page contains the weights, is safe from its texts, and needs no network."""

import json
import re

import numpy as np
from support.models.attention_weights import (
    ODD_WORDS,
    READ,
    SOURCE,
    WRITTEN,
    random_weights,
    sub_layer_weights,
)

from t2t_keras.visualization.heads import heads_of
from t2t_keras.visualization.page import assembled, page


def data_of(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S).group(1))


def test_names_in_braces_inside_a_part_are_not_replaced(tmp_path):
    (tmp_path / "template").write_text("{{a}} {{b}} {{a}}")
    assert assembled(tmp_path / "template", a="{{b}}", b="{{a}}\\1") == "{{b}} {{a}}\\1 {{b}}"


def test_the_page_contains_the_weights_in_thousandths():
    sub_layers = heads_of(sub_layer_weights(), SOURCE, READ, WRITTEN)
    data = data_of(page(sub_layers, "The horse", "Das Pferd"))
    assert (data["sentence"], data["translation"]) == ("The horse", "Das Pferd")
    assert list(data["kinds"]) == ["encoder-self", "decoder-self", "decoder-cross"]
    for heads in sub_layers:
        kind = data["kinds"][f"{heads.stack}-{heads.kind.removesuffix('_attention')}"]
        assert (kind["queries"], kind["keys"]) == (heads.queries, heads.keys)
        weights = np.array(kind["layers"][heads.layer - 1]) / 1000
        np.testing.assert_allclose(weights, heads.weights, atol=0.0005001)


def test_no_word_can_become_markup():
    words = [(word, 1) for word in ODD_WORDS]
    weights = {"encoder/0/self_attention": random_weights(len(words), len(words))}
    sentence = " ".join(ODD_WORDS)
    html = page(heads_of(weights, words, [], []), sentence, sentence)
    empty = page([], "", "")
    assert html.count("<") == empty.count("<") and html.count("&") == empty.count("&")
    data = data_of(html)
    assert data["sentence"] == sentence
    assert data["kinds"]["encoder-self"]["queries"] == ODD_WORDS


def test_the_page_loads_nothing_from_elsewhere():
    html = page(heads_of(sub_layer_weights(), SOURCE, READ, WRITTEN), "The horse", "Das Pferd")
    assert not re.search(r"https?:|//[a-z]+\.|\bsrc=|\bhref=|@import|url\(", html)
    assert "default-src 'none'" in html
