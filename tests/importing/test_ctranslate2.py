"""A model of CTranslate2 gives the same results here as in CTranslate2 itself."""

import json
import re
import shutil

import ctranslate2
import numpy as np
import pytest
from support.importing.ctranslate2_folder import random_model, write_folder, write_vocabulary
from support.importing.imported_logits import model_of
from support.importing.small_sentencepiece import unigram_model
from support.models.helpers import OTHER_SYSTEMS, array, tiny_model

from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.export.ctranslate2 import save_ctranslate2
from t2t_keras.importing.ctranslate2 import current_name, read

SOURCES = [list("abc"), list("gfedc"), list("ddddg")]


def their_scores(folder, sources, targets):
    """Returns the log-probabilities of each target's tokens and its end."""
    translator = ctranslate2.Translator(str(folder), intra_threads=1)
    return [result.log_probs for result in translator.score_batch(sources, targets)]


def our_scores(imported, sources, targets):
    model, scores = model_of(imported), []
    for source, target in zip(sources, targets, strict=True):
        sides = (imported.source.pieces, source), (imported.target.pieces, target)
        ids = [[pieces.index(token) for token in tokens] + [2] for pieces, tokens in sides]
        ids[0] = [1] * imported.source.begin + ids[0]
        scores.append(array(log_probabilities(model, *(np.array([side]) for side in ids)))[0])
    return scores


def check_scores(folder, rtol=1e-4):
    targets = [list("ab"), list("dcba"), ["e"]]
    ours, theirs = (
        our_scores(read(folder), SOURCES, targets),
        their_scores(folder, SOURCES, targets),
    )
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=rtol, atol=1e-4)


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


def test_scores_equal_those_of_ctranslate2(folder):
    check_scores(folder)
    imported = read(folder)
    assert imported.config.layers == (2, 1) and not imported.config.source_end
    assert imported.search == {"beam": 2, "alpha": 1.0, "penalty": "marian"}
    assert imported.source.pieces == ["<blank>", "<s>", "</s>", "<unk>", *"abcdefg"]
    assert imported.target.pieces == ["<blank>", "<s>", "</s>", "<unk>", *"abcde"]


# Attributes of current converters, and config.json.
MODERN = {f"{stack}/num_heads": np.int8(4) for stack in ("encoder", "decoder")}
MODERN |= {f"{stack}/pre_norm": np.int8(1) for stack in ("encoder", "decoder")}


def modern(activation=0, scale=1, **settings):
    result = variables(**settings) | MODERN
    for stack in ("encoder", "decoder"):
        result[f"{stack}/activation"] = np.int8(activation)
        result[f"{stack}/scale_embeddings"] = np.float32(scale) if scale > 1 else np.int8(scale)
    result["encoder/embeddings_0/weight"] = result.pop("encoder/embeddings/weight")
    return result


def write_modern(folder, variables, settings=None, aliases=()):
    write_folder(folder, variables, version=6, spec="TransformerSpec", revision=7, aliases=aliases)
    rows = variables["encoder/embeddings_0/weight"].shape[0]
    special = ["<blank>", "<s>", "</s>", "<unk>"]
    (folder / "source_vocabulary.txt").unlink()
    (folder / "target_vocabulary.txt").unlink()
    write_vocabulary(folder / "source_vocabulary.json", [*special, *"abcdefg"][:rows])
    write_vocabulary(folder / "target_vocabulary.json", [*special, *"abcde"])
    settings = {
        **{"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
        **{"decoder_start_token": "<s>", "add_source_bos": False, "add_source_eos": True},
        **{"layer_norm_epsilon": None, **(settings or {})},
    }
    (folder / "config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize(
    ("settings", "configuration"),
    [
        ({}, {}),
        ({"activation": 1}, {"layer_norm_epsilon": 0.1}),
        ({"activation": 2, "scale": 0}, {"add_source_eos": False}),
        ({"activation": 3, "scale": 2.5}, {"decoder_start_token": "</s>"}),
        ({"activation": 4}, {}),
        ({"bias": False}, {}),
        ({}, {"add_source_bos": True}),
        ({}, {"add_source_bos": True, "add_source_eos": False}),
        ({}, {"add_source_bos": True, "bos_token": "</s>"}),
        ({}, {"add_source_bos": True, "decoder_start_token": "</s>"}),
    ],
)
def test_scores_are_equal_for_every_option(tmp_path, settings, configuration):
    folder = write_modern(tmp_path / "model", modern(**settings), configuration)
    check_scores(folder)
    assert read(folder).source.begin == configuration.get("add_source_bos", False)


@pytest.mark.parametrize(
    ("says", "zeros_first", "given", "expected", "note"),
    [
        (True, 0, None, True, None),
        (True, 0, False, False, None),
        (None, 0, None, False, "the source has no end, .* import with --source_end"),
        (False, 0, None, False, "the source has no end, .* import with --source_end"),
        (False, 0, True, True, None),
        (None, 1, None, True, "as in every model of Marian; .* import with --nosource_end"),
        (False, 1, None, True, "as in every model of Marian; .* import with --nosource_end"),
        (False, 1, False, False, None),
    ],
)
def test_the_end_of_the_source(tmp_path, says, zeros_first, given, expected, note):
    variables = modern() | {"decoder/start_from_zero_embedding": np.int8(zeros_first)}
    folder = write_modern(tmp_path / "model", variables)
    settings = json.loads((folder / "config.json").read_text()) | {"add_source_eos": says}
    settings = {name: value for name, value in settings.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(settings))
    imported = read(folder, source_end=given)
    assert imported.config.source_end is expected
    assert len(imported.notes) == (note is not None)
    assert note is None or re.search(note, imported.notes[0])


def test_the_user_may_say_how_the_source_begins(folder):
    assert read(folder, source_begin=True).source.begin
    with pytest.raises(ValueError, match="source_begin"):
        read(folder, source_begin=1)


def test_language_codes_beside_a_sentencepiece_model_begin_a_source(tmp_path):
    folder = write_modern(tmp_path / "model", modern())
    special = ["<blank>", "<s>", "</s>", "<unk>"]
    for side, tokens in (("source", "abcdef"), ("target", "abcd")):
        write_vocabulary(folder / f"{side}_vocabulary.json", [*special, ">>fr<<", *tokens])
        (folder / f"{side}.spm").write_bytes(unigram_model(80))
    imported = read(folder)
    assert (imported.source.kind, imported.source.codes, imported.target.codes) == (
        *("sentencepiece", True, False),
    )
    # SentencePiece finds the codes that it knows.
    known = unigram_model(80, user_defined_symbols=">>fr<<")
    (folder / "source.spm").write_bytes(known)
    assert not read(folder).source.codes


def test_a_tokenizer_json_of_hugging_face_is_not_our_vocabulary(folder):
    (folder / "tokenizer.json").write_text('{"version": "1.0", "model": {"type": "BPE"}}')
    assert read(folder).own_vocabulary is None


def test_zeros_to_start_from_and_a_scale_of_the_queries(tmp_path):
    changed = modern() | {"decoder/start_from_zero_embedding": np.int8(1)}
    for i in range(2):
        changed[f"encoder/layer_{i}/self_attention/queries_scale"] = np.float32(0.9)
    folder = write_modern(tmp_path / "model", changed)
    check_scores(folder)
    assert not read(folder).weights["embedding/matrix"].read()[1].any()


def test_an_output_that_is_an_alias_of_the_embeddings_is_tied(tmp_path):
    changed = modern()
    del changed["decoder/projection/weight"]
    folder = write_modern(
        tmp_path / "model",
        changed,
        {"decoder_start_token": "</s>"},
        aliases=[("decoder/projection/weight", "decoder/embeddings/weight")],
    )
    imported = read(folder)
    assert imported.config.tie_output and imported.config.pre_norm
    begin, end = imported.weights["embedding/matrix"].read()[1:3]
    np.testing.assert_array_equal(begin, end)
    bias = imported.weights["embedding/bias"].read()
    np.testing.assert_array_equal(bias[:2], [-1e4, -1e4])


def test_one_vocabulary_and_one_matrix_are_shared(tmp_path):
    changed = modern(source=9, target=9)
    changed["encoder/embeddings_0/weight"] = changed["decoder/embeddings/weight"]
    folder = write_modern(tmp_path / "model", changed)
    (folder / "source_vocabulary.json").unlink()
    (folder / "target_vocabulary.json").rename(folder / "shared_vocabulary.json")
    imported = read(folder)
    assert imported.source is imported.target and imported.config.source_vocab_size is None


def test_revision_1_has_other_names(folder, tmp_path):
    """The old names, written from those of OpenNMT-tf 1."""
    named = {}
    for name, value in variables(layers=(1, 1)).items():
        stack = name.split("/")[0]
        old = name.replace("embeddings/weight", "w_embs").replace("projection", "dense")
        old = old.replace("ffn/linear_0", "ffn/conv1d").replace("ffn/linear_1", "ffn/conv1d_1")
        old = old.replace("linear_0", "conv1d").replace("linear_", "conv1d_")
        if stack == "encoder":
            old = old.replace("self_attention", "multi_head")
        else:
            old = old.replace("/attention/", "/multi_head/")
            old = old.replace("self_attention", "masked_multi_head")
        old = old.replace("weight", "kernel").replace("layer_norm", "LayerNorm")
        assert current_name(f"transformer/{old}:0") == name
        named[f"transformer/{old}:0"] = value
    new = write_folder(tmp_path / "new", variables(layers=(1, 1)))
    old = write_folder(tmp_path / "old", named, version=1, revision=1)
    shutil.copy(new / "source_vocabulary.txt", old)
    for path, tensor in read(new).weights.items():
        np.testing.assert_array_equal(read(old).weights[path].read(), tensor.read())


@pytest.mark.long
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
    untouched = 0
    for weight in model.weights:
        path = weight.path.split("/", 1)[1]
        if weight.trainable and "matrix" not in path and path in imported.weights:
            expected = array(weight)
            if path.endswith("bias") and "embedding" in path:
                expected = np.concatenate([[-1e4, -1e4], expected[2:]])
            np.testing.assert_array_equal(imported.weights[path].read(), expected)
            untouched += 1
    assert untouched >= len(model.trainable_weights) - 3
    twin, random = model_of(imported), np.random.default_rng(0)
    inputs = {name: random.integers(3, 40, (2, 7)) for name in ("source", "target")}
    expected, found = array(model(inputs)), array(twin(inputs))
    np.testing.assert_allclose(found[..., 2:], expected[..., 2:], atol=2e-6)
