import random

import numpy as np
import pytest
import tensorflow as tf
from support.text.toy_tokenizers import KINDS, TOY_TEXTS, UGLY_TEXTS, toy_tokenizer


@pytest.fixture(params=KINDS)
def tokenizer(request):
    return toy_tokenizer(request.param)


def as_bytes(texts):
    return [text.encode() if isinstance(text, str) else text for text in texts]


@pytest.mark.long
@pytest.mark.parametrize("texts", [UGLY_TEXTS, TOY_TEXTS], ids=["ugly", "toy"])
def test_ids_in_a_graph_equal_those_outside(tokenizer, texts):
    expected = [ids.tolist() for ids in tokenizer.encode(texts)]
    graph = tokenizer.in_graph()
    assert graph.tokenize(tf.constant(as_bytes(texts))).to_list() == expected
    compiled = tf.function(graph.tokenize)
    for first in range(0, len(texts), 100):
        ids = compiled(tf.constant(as_bytes(texts[first : first + 100]))).to_list()
        assert ids == expected[first : first + 100]


def test_texts_in_a_graph_equal_those_outside(tokenizer):
    choices = random.Random(0)
    sequences = [ids.tolist() for ids in tokenizer.encode(UGLY_TEXTS)]
    sequences += [choices.choices(range(tokenizer.size), k=12) for _ in range(500)]
    expected = tokenizer.decode(sequences)
    detokenize = tokenizer.in_graph().detokenize
    ids = tf.ragged.constant(sequences, dtype="int32")
    assert [text.decode() for text in detokenize(ids).numpy()] == expected
    short = [i for i, sequence in enumerate(sequences) if len(sequence) < 200]
    padded = tf.gather(ids, short).to_tensor()
    assert [text.decode() for text in detokenize(padded).numpy()] == [expected[i] for i in short]


def test_an_exported_graph_needs_no_other_files(tokenizer, tmp_path):
    graph = tokenizer.in_graph()
    module = tf.Module()
    module.graph = graph
    module.ids = tf.function(
        lambda texts: graph.tokenize(texts).to_tensor(),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    tf.saved_model.save(module, str(tmp_path))
    texts = tf.constant(TOY_TEXTS[:5])
    ids = tf.saved_model.load(str(tmp_path)).ids(texts)
    np.testing.assert_array_equal(ids, graph.tokenize(texts).to_tensor())
