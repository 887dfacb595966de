import random

import pytest
import tensorflow as tf
from support.text.toy_tokenizers import IMPORTED_KINDS, KINDS, TOY_TEXTS, UGLY_TEXTS, toy_tokenizer

from pipelines.tokenizers import SeparateTokenizers, graphs_of

TEXTS = [*UGLY_TEXTS, *(f">>de<< {text}" for text in TOY_TEXTS[:30]), *TOY_TEXTS[:100]]


def as_bytes(texts):
    return tf.constant([text.encode() if isinstance(text, str) else text for text in texts])


@pytest.mark.parametrize("kind", KINDS + IMPORTED_KINDS)
def test_ids_and_texts_in_a_graph_equal_those_outside(kind):
    tokenizer, choices = toy_tokenizer(kind), random.Random(0)
    graph, expected = tokenizer.in_graph(), [ids.tolist() for ids in tokenizer.encode(TEXTS)]
    assert tf.function(graph.tokenize)(as_bytes(TEXTS)).to_list() == expected
    sequences = [choices.choices(range(tokenizer.size), k=12) for _ in range(500)]
    short = [ids for ids in expected if len(ids) < 200]
    ids = tf.ragged.constant([*short, *sequences], dtype="int32", ragged_rank=1)
    texts = tokenizer.decode(ids.to_list())
    for each in (ids, ids.to_tensor()):
        assert [text.decode() for text in graph.detokenize(each).numpy()] == texts


def test_an_exported_graph_needs_no_other_files(tmp_path):
    module, module.graph = tf.Module(), toy_tokenizer("word_pieces").in_graph()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def ids(texts):
        return module.graph.tokenize(texts).to_tensor()

    tf.saved_model.save(module, str(tmp_path), ids)
    texts = tf.constant(TOY_TEXTS[:5])
    (found,) = tf.saved_model.load(str(tmp_path)).signatures["serving_default"](texts).values()
    assert found.numpy().tolist() == ids(texts).numpy().tolist()


def test_a_shared_vocabulary_has_one_graph_and_separate_ones_have_two():
    tokens, sentencepiece = toy_tokenizer("tokens"), toy_tokenizer("sentencepiece")
    source, target = graphs_of(tokens)
    assert source is target
    both = graphs_of(SeparateTokenizers(tokens, sentencepiece))
    for graph, own in zip(both, (tokens, sentencepiece), strict=True):
        (expected,) = own.encode(["the Hund."])
        assert graph.tokenize(["the Hund."]).to_list() == [expected.tolist()]
