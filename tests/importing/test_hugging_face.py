"""A Marian model of Hugging Face computes the same logits here as there.

`hugging_face_models.npz` holds small models and their logits. `make_hugging_face_model.py` made
them with Hugging Face's own code.
"""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from keras import ops
from support.importing.imported_model import model_of
from support.importing.safetensors_files import write_safetensors
from support.importing.small_sentencepiece import pieces_of, unigram_model

from t2t_keras.importing.files.safetensors_file import read_safetensors
from t2t_keras.importing.formats import recognized
from t2t_keras.importing.hugging_face import OUTPUT, SHARED, SOURCE, TARGET, HuggingFaceFolder, read
from t2t_keras.runs import load_translator
from t2t_keras.runs.importing.import_run import import_run

MODELS = np.load(Path(__file__).parent / "hugging_face_models.npz")
SPM = unigram_model(120)
TOKENS = ["</s>", "<unk>", ">>de<<", *pieces_of(SPM)[3:]]
# The ids of each case's target, theirs for ours. Ours begin with padding, begin, end, unknown;
# begin stands where they start from padding, or in the case of two vocabularies from token 40.
TARGET_ORDER = {
    "tied": [40, 40, 0, 1, *range(2, 40)],
    "untied": [40, 40, 0, 1, *range(2, 40)],
    "two_vocabularies": [42, 40, 0, 1, *range(2, 42)],
}


def write_folder(folder, case, weights="model.safetensors", **settings):
    """Writes a folder as `save_pretrained` does, with changes to config.json."""
    folder.mkdir()
    for name in (weights, "config.json", "generation_config.json"):
        (folder / name).write_bytes(MODELS[f"{case}/{name}"].tobytes())
    change(folder, **settings)
    write_ids(folder / "vocab.json", [*TOKENS[:40], "<pad>"])
    if case == "two_vocabularies":
        write_ids(folder / "target_vocab.json", [*TOKENS[:42], "<pad>"])
    for side in ("source", "target"):
        (folder / f"{side}.spm").write_bytes(SPM if side == "source" else unigram_model(80))
    return folder


@pytest.fixture
def tied(tmp_path):
    """A folder of a model with one matrix."""
    return write_folder(tmp_path / "model", "tied")


def change(folder, name="config.json", **settings):
    path = folder / name
    contents = json.loads(path.read_text()) | settings
    path.write_text(json.dumps({key: value for key, value in contents.items() if value != "gone"}))


def write_ids(path, tokens):
    path.write_text(json.dumps({token: id for id, token in enumerate(tokens)}))


def change_tensors(folder, **changes):
    """Writes the weights again in float32, with changes; None leaves one out."""
    path = folder / "model.safetensors"
    arrays = {name: tensor.read() for name, tensor in read_safetensors(path).items()} | changes
    arrays = {name: array for name, array in arrays.items() if array is not None}
    write_safetensors(path, {name: array.shape for name, array in arrays.items()}, arrays.values())


@pytest.mark.parametrize("case", TARGET_ORDER)
def test_logits_equal_those_of_hugging_face(tmp_path, case):
    """The source of the second pair of sequences is padded."""
    model = model_of(read(write_folder(tmp_path / "model", case)))
    sources = {theirs: ours for ours, theirs in enumerate([40, None, 0, 1, *range(2, 40)])}
    order = TARGET_ORDER[case]
    source = np.vectorize(sources.get)(MODELS["source"])
    target = np.vectorize(order[2:].index)(np.where(MODELS["target"] == 40, 0, MODELS["target"]))
    target += 2
    target[:, 0] = 1
    logits = ops.convert_to_numpy(model({"source": source, "target": target}))
    expected = MODELS[f"{case}/logits"][..., order]
    np.testing.assert_allclose(logits[..., 2:], expected[..., 2:], rtol=0, atol=1e-5)
    assert (logits[..., :2] < -9000).all()  # padding and begin are never written


def check_weights(folder, other):
    """Checks that two folders have the same weights."""
    ours, theirs = read(folder).weights, read(other).weights
    assert ours.keys() == theirs.keys()
    for path in ours:
        np.testing.assert_array_equal(ours[path].read(), theirs[path].read())


def test_a_pytorch_file_gives_the_same_weights_as_safetensors(tied, tmp_path):
    check_weights(tied, write_folder(tmp_path / "other", "tied", "pytorch_model.bin"))


def test_matrices_are_shared_exactly_where_theirs_are(tmp_path):
    configs = [read(write_folder(tmp_path / case, case)).config for case in TARGET_ORDER]
    sizes = [(each.vocab_size, each.source_vocab_size, each.tie_output) for each in configs]
    assert sizes == [(42, None, True), (42, 42, False), (44, 42, True)]
    assert [each.layers for each in configs] == [(2, 1), (2, 1), (1, 1)]
    # transformers 4 saves equal matrices under one name.
    change_tensors(tmp_path / "untied", **{SOURCE: None, TARGET: None})
    config = read(tmp_path / "untied").config
    assert config.source_vocab_size is None and not config.tie_output


def test_a_run_has_two_tokenizers(tied, tmp_path):
    tokenizer = import_run(tied, tmp_path / "run").run.tokenizer()
    assert tokenizer.source.contents() != tokenizer.target.contents()
    assert tokenizer.source.pieces(range(5)) == ["<pad>", "<s>", "</s>", "<unk>", ">>de<<"]
    assert tokenizer.source.encode([">>de<< the"])[0][0] == 4
    assert 4 not in tokenizer.target.encode([">>de<< the"])[0]
    load_translator(tmp_path / "run", tmp_path / "run")  # checks that the vocabularies are equal


def test_the_search_is_that_of_the_model_s_files(tied):
    assert recognized(tied) == "hugging_face"
    assert read(tied).search == {"beam": 1, "alpha": 1.0, "penalty": "marian"}
    change(tied, num_beams=6)
    assert read(tied).search["beam"] == 6
    change(tied, "generation_config.json", num_beams=4, length_penalty=0.5)
    assert read(tied).search == {"beam": 4, "alpha": 0.5, "penalty": "marian"}


def test_constraints_of_the_search_are_used_or_noted(tied):
    change(tied, no_repeat_ngram_size=3)
    change(tied, "generation_config.json", bad_words_ids=[[40], [0], [1], [5], [5, 6]])
    imported = read(tied)
    # Padding is never written, and the end must be possible.
    assert (imported.search["no_repeat_ngram"], imported.search["banned"]) == (3, (3, 7))
    assert imported.target.pieces[7] == TOKENS[5]
    assert imported.notes[0].startswith("1 of bad_words_ids are sequences")
    change(tied, "generation_config.json", bad_words_ids=[5])
    check_refusal(tied, "bad_words_ids must be")


def check_refusal(folder, message):
    with pytest.raises(ValueError) as error:
        read(folder)
    assert str(folder) in str(error.value)
    assert re.search(message, str(error.value)), str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "m2m_100"}, "'m2m_100'.*'marian'"),
        ({"decoder_attention_heads": 2}, "same attention_heads. Received: 4 and 2"),
        ({"activation_function": "tanh"}, "activation_function.*'relu'.*'tanh'"),
        ({"decoder_start_token_id": 41}, "decoder_start_token_id 41"),
        ({"tie_word_embeddings": False}, OUTPUT),
        ({"share_encoder_decoder_embeddings": False}, TARGET),
    ],
)
def test_refused_settings_are_named(tied, settings, message):
    change(tied, **settings)
    check_refusal(tied, message)


@pytest.mark.parametrize(
    ("case", "name", "array", "message"),
    [
        ("tied", OUTPUT, np.ones((41, 16)), f"{SHARED} and {OUTPUT} differ"),
        ("two_vocabularies", SHARED, np.ones((41, 16)), f"so it is not imported: {SHARED}"),
    ],
)
def test_other_tensors_are_refused(tmp_path, case, name, array, message):
    folder = write_folder(tmp_path / "model", case)
    change_tensors(folder, **{"model.encoder.embed_positions.weight": np.ones((20, 16))})
    read(folder)  # constants, which are not needed
    change_tensors(folder, **{name: array})
    check_refusal(folder, message)


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("source.spm", None, "has no source.spm"),
        ("model.safetensors", None, "neither model.safetensors nor pytorch_model.bin"),
        ("vocab.json", None, "has no vocab.json"),
        ("vocab.json", '{"</s>": 41}', "from 0 to 40"),
        ("vocab.json", '{"<unk>": 1}', "the end of a text must be one token, </s>"),
    ],
)
def test_missing_and_unsuitable_files_are_named(tied, name, contents, message):
    (tied / name).unlink(missing_ok=True)
    if contents is not None:
        (tied / name).write_text(contents)
    check_refusal(tied, message)


def test_rows_without_a_token_keep_their_place(tied):
    write_ids(tied / "vocab.json", TOKENS[:38])
    imported = read(tied)
    assert imported.config.vocab_size == 42  # their 41, begin
    assert imported.target.pieces[-3:] == [TOKENS[37], "<unused_38>", "<unused_39>"]
    np.testing.assert_array_equal(
        imported.weights["embedding/matrix"].read()[[-1, 1]],
        HuggingFaceFolder(tied).tensors.take(SHARED).read()[[39, 40]],
    )


def test_padding_without_a_token_is_found_by_its_id_and_never_written(tied, tmp_path):
    write_ids(tied / "vocab.json", TOKENS[:40])
    check_weights(tied, write_folder(tmp_path / "other", "tied"))
    change(tied, pad_token_id="gone")
    assert read(tied).config.vocab_size == 43  # their row 40 is a token without a name
