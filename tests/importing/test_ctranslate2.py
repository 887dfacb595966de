"""A model of CTranslate2 gives the same results here as in CTranslate2 itself."""

import json
import re

import numpy as np
import pytest
from support.importing.ctranslate2_folder import random_model, write_folder, write_vocabulary
from support.importing.imported_model import check_scores
from support.importing.small_sentencepiece import unigram_model
from support.models.helpers import OTHER_SYSTEMS, array, tiny_model

from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.importing.ctranslate2 import read

SPECIAL = ["<blank>", "<s>", "</s>", "<unk>"]
PAIRS = [(list("abc"), list("ab")), (list("gfedc"), list("dcba")), (list("ddddg"), ["e"])]


@pytest.fixture
def folder(tmp_path):
    """A model as OpenNMT-tf trains it: no end after the source, positions from 1."""
    return write_folder(tmp_path / "model", variables())


def variables(**settings):
    """Returns a random model whose begin and padding are never written, as in a trained one."""
    result = random_model(**settings)
    result["decoder/projection/weight"][:2] = 0
    if "decoder/projection/bias" in result:
        result["decoder/projection/bias"][:2] = -1e4
    else:  # a component that is 30 at every position
        result["decoder/layer_norm/gamma"][0], result["decoder/layer_norm/beta"][0] = 0, 30
        result["decoder/projection/weight"][:, 0] = 0
        result["decoder/projection/weight"][:2, 0] = -1
    return result


def modern(activation=0, scale=1, attributes=(), **settings):
    """Returns variables with the attributes and names of current converters."""
    result = variables(**settings) | dict(attributes)
    flags = {"num_heads": 4, "pre_norm": 1, "activation": activation}
    for stack in ("encoder", "decoder"):
        result |= {f"{stack}/{name}": np.int8(value) for name, value in flags.items()}
        result[f"{stack}/scale_embeddings"] = np.float32(scale) if scale > 1 else np.int8(scale)
    result["encoder/embeddings_0/weight"] = result.pop("encoder/embeddings/weight")
    return result


def write_modern(folder, variables, settings=(), aliases=()):
    write_folder(folder, variables, version=6, spec="TransformerSpec", revision=7, aliases=aliases)
    rows = {"source": variables["encoder/embeddings_0/weight"].shape[0], "target": 9}
    for side, size in rows.items():
        (folder / f"{side}_vocabulary.txt").unlink()
        write_vocabulary(folder / f"{side}_vocabulary.json", [*SPECIAL, *"abcdefg"][:size])
    tokens = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
    tokens |= {"decoder_start_token": "<s>", "add_source_bos": False, "add_source_eos": True}
    contents = {**tokens, "layer_norm_epsilon": None, **dict(settings)}
    (folder / "config.json").write_text(json.dumps(contents))
    return folder


def test_scores_of_an_early_revision(folder):
    imported = read(folder)
    check_scores(imported, folder, PAIRS)
    assert imported.config.layers == (2, 1) and not imported.config.source_end
    assert imported.search == {"beam": 2, "alpha": 1.0, "penalty": "marian"}
    assert imported.source.pieces == [*SPECIAL, *"abcdefg"]
    assert imported.target.pieces == [*SPECIAL, *"abcde"]


@pytest.mark.parametrize(
    ("settings", "configuration"),
    [
        ({"activation": 1}, {"layer_norm_epsilon": 0.1}),
        ({"activation": 2, "scale": 0}, {"add_source_eos": False, "add_source_bos": True}),
        ({"activation": 3, "scale": 2.5}, {"decoder_start_token": "</s>"}),
        ({"activation": 4, "bias": False}, {"add_source_bos": True, "bos_token": "</s>"}),
        ({}, {"add_source_bos": True, "decoder_start_token": "</s>"}),
        (
            {
                "attributes": {
                    "decoder/start_from_zero_embedding": np.int8(1),
                    "encoder/layer_0/self_attention/queries_scale": np.float32(0.9),
                }
            },
            {},
        ),
    ],
)
def test_scores_are_equal_for_every_option(tmp_path, settings, configuration):
    folder = write_modern(tmp_path / "model", modern(layers=(1, 1), **settings), configuration)
    imported = read(folder)
    check_scores(imported, folder, PAIRS)
    assert imported.source.begin == configuration.get("add_source_bos", False)


@pytest.mark.parametrize(
    ("says", "zeros_first", "given", "expected", "note"),
    [
        ({"add_source_eos": True}, 0, False, False, None),
        ({"add_source_eos": False}, 0, True, True, None),
        ({"add_source_eos": False}, 0, None, False, "no end, .* import with --source_end"),
        ({}, 0, None, False, "no end, .* import with --source_end"),
        ({}, 1, None, True, "as in every model of Marian; .* import with --nosource_end"),
        ({}, 1, False, False, None),
    ],
)
def test_the_end_of_the_source(tmp_path, says, zeros_first, given, expected, note):
    changed = random_model() | {"decoder/start_from_zero_embedding": np.int8(zeros_first)}
    folder = write_folder(tmp_path / "model", changed)
    (folder / "config.json").write_text(json.dumps(says))
    imported = read(folder, source_end=given)
    assert imported.config.source_end is expected
    assert len(imported.notes) == (note is not None)
    assert note is None or re.search(note, imported.notes[0])


def test_language_codes_beside_a_sentencepiece_model_begin_a_source(folder):
    for side, tokens in (("source", "abcdef"), ("target", "abcd")):
        write_vocabulary(folder / f"{side}_vocabulary.json", [*SPECIAL, ">>fr<<", *tokens])
        (folder / f"{side}.spm").write_bytes(unigram_model(80))
    imported = read(folder)
    assert imported.source.kind == "sentencepiece"
    assert imported.source.codes and not imported.target.codes
    # SentencePiece finds the codes that it knows.
    (folder / "source.spm").write_bytes(unigram_model(80, user_defined_symbols=">>fr<<"))
    assert not read(folder).source.codes


def test_a_tokenizer_json_of_hugging_face_is_not_our_vocabulary(folder):
    (folder / "tokenizer.json").write_text('{"version": "1.0", "model": {"type": "BPE"}}')
    imported = read(folder, source_begin=True)
    assert imported.own_vocabulary is None and imported.source.begin
    with pytest.raises(ValueError, match="source_begin"):
        read(folder, source_begin=1)


def test_an_output_that_is_an_alias_of_the_embeddings_is_tied(tmp_path):
    changed = modern()
    del changed["decoder/projection/weight"]
    aliases = [("decoder/projection/weight", "decoder/embeddings/weight")]
    settings = {"decoder_start_token": "</s>"}
    imported = read(write_modern(tmp_path / "model", changed, settings, aliases))
    assert imported.config.tie_output and imported.config.pre_norm
    begin, end = imported.weights["embedding/matrix"].read()[1:3]
    np.testing.assert_array_equal(begin, end)
    np.testing.assert_array_equal(imported.weights["embedding/bias"].read()[:2], [-1e4, -1e4])


def test_one_vocabulary_and_one_matrix_are_shared(tmp_path):
    changed = modern(source=9, target=9)
    changed["encoder/embeddings_0/weight"] = changed["decoder/embeddings/weight"]
    folder = write_modern(tmp_path / "model", changed)
    (folder / "source_vocabulary.json").unlink()
    (folder / "target_vocabulary.json").rename(folder / "shared_vocabulary.json")
    imported = read(folder)
    assert imported.source is imported.target and imported.config.source_vocab_size is None


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {**OTHER_SYSTEMS, "norm_epsilon": 1e-6},
        {"positions": "learned", "max_length": 20, "activation": "gelu_tanh", "decoder_layers": 1},
        {"d_k": 8, "d_v": 8, "attention_bias": True, "tie_output": False, "output_bias": True},
    ],
)
def test_our_own_exports_come_back_bit_for_bit(tmp_path, settings):
    model = tiny_model(**settings)
    pieces = ["<pad>", "<s>", "</s>", "<unk>", *map(str, range(46))]
    rows = model.config.source_vocab_size or 50
    save_ctranslate2(model, pieces, tmp_path / "model", source_pieces=pieces[:rows])
    imported = read(tmp_path / "model")
    names = ("layers", "num_heads", "d_k", "activation", "pre_norm", "norm_epsilon", "source_end")
    for name in (*names, "embedding_scale", "tie_output", "source_vocab_size"):
        assert getattr(imported.config, name) == getattr(model.config, name), name
    for weight in model.trainable_weights:
        path = weight.path.split("/", 1)[1]
        expected, found = array(weight), imported.weights[path].read()
        if "embedding" in path:  # padding and begin are never written
            expected, found = expected[2:], found[2:]
        np.testing.assert_array_equal(found, expected, err_msg=path)
