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
from support.importing.imported_logits import model_of
from support.importing.small_sentencepiece import pieces_of, unigram_model

from t2t_keras.importing.files.safetensors_file import read_safetensors
from t2t_keras.importing.formats import recognized
from t2t_keras.importing.hugging_face import HuggingFaceFolder, read
from t2t_keras.runs.importing.import_run import import_run
from t2t_keras.runs.run_ensemble import RunEnsemble

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


def change(folder, name="config.json", **settings):
    path = folder / name
    contents = json.loads(path.read_text()) | settings
    path.write_text(json.dumps({key: value for key, value in contents.items() if value != "gone"}))


def write_ids(path, tokens):
    path.write_text(json.dumps({token: id for id, token in enumerate(tokens)}))


def change_tensors(folder, **changes):
    """Writes the weights again in float32, with changes; None leaves one out."""
    path = folder / "model.safetensors"
    arrays = {name: tensor.read() for name, tensor in read_safetensors(path).items()}
    arrays |= {name.replace("__", "."): array for name, array in changes.items()}
    header, data = {}, b""
    for name, array in arrays.items():
        if array is not None:
            contents = array.astype("<f4").tobytes()
            places = [len(data), len(data) + len(contents)]
            header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": places}
            data += contents
    header = json.dumps(header).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + data)


def check_logits(model, case):
    """Compares logits for two pairs of sequences; the source of the second is padded."""
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


@pytest.mark.parametrize("case", TARGET_ORDER)
def test_logits_equal_those_of_hugging_face(tmp_path, case):
    check_logits(model_of(read(write_folder(tmp_path / "model", case))), case)


def test_a_pytorch_file_gives_the_same_weights_as_safetensors(tmp_path):
    ours, theirs = (
        read(write_folder(tmp_path / weights, "tied", weights)).weights
        for weights in ("pytorch_model.bin", "model.safetensors")
    )
    assert ours.keys() == theirs.keys()
    for path in ours:
        np.testing.assert_array_equal(ours[path].read(), theirs[path].read())


def test_matrices_are_shared_exactly_where_theirs_are(tmp_path):
    tied, untied, two = (
        read(write_folder(tmp_path / case, case)).config
        for case in ("tied", "untied", "two_vocabularies")
    )
    assert (tied.vocab_size, tied.source_vocab_size, tied.tie_output) == (42, None, True)
    assert (untied.vocab_size, untied.source_vocab_size, untied.tie_output) == (42, 42, False)
    assert (two.vocab_size, two.source_vocab_size, two.tie_output) == (44, 42, True)
    assert tied.layers == (2, 1) and two.layers == (1, 1)


def test_untied_input_matrices_that_are_equal_become_one(tmp_path):
    folder = write_folder(tmp_path / "model", "untied")
    # As transformers 4 saves them: under one name.
    changes = {"model.encoder.embed_tokens.weight": None, "model.decoder.embed_tokens.weight": None}
    change_tensors(folder, **changes)
    config = read(folder).config
    assert config.source_vocab_size is None and not config.tie_output


def test_a_run_has_one_matrix_and_two_tokenizers(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    run = import_run(folder, tmp_path / "run").run
    tokenizer = run.tokenizer()
    check_logits(run.model(), "tied")
    assert tokenizer.source.contents() != tokenizer.target.contents()
    assert tokenizer.source.pieces(range(5)) == ["<pad>", "<s>", "</s>", "<unk>", ">>de<<"]
    assert tokenizer.source.encode([">>de<< the"])[0][0] == 4
    assert 4 not in tokenizer.target.encode([">>de<< the"])[0]
    RunEnsemble([tmp_path / "run", tmp_path / "run"])  # checks that the vocabularies are equal


def test_the_search_is_that_of_the_model_s_files(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    assert read(folder).search == {"beam": 1, "alpha": 1.0, "penalty": "marian"}
    change(folder, num_beams=6)
    assert read(folder).search["beam"] == 6
    change(folder, "generation_config.json", num_beams=4, length_penalty=0.5)
    assert read(folder).search == {"beam": 4, "alpha": 0.5, "penalty": "marian"}


def test_constraints_of_the_search_are_used_or_noted(tmp_path):
    folder = write_folder(tmp_path / "model", "tied", no_repeat_ngram_size=3)
    change(folder, "generation_config.json", bad_words_ids=[[40], [0], [1], [5], [5, 6]])
    imported = read(folder)
    # Padding is never written, and the end must be possible.
    assert (imported.search["no_repeat_ngram"], imported.search["banned"]) == (3, (3, 7))
    assert imported.target.pieces[7] == TOKENS[5]
    assert imported.notes == [
        "1 of bad_words_ids are sequences, which a search here cannot exclude"
    ]
    change(folder, "generation_config.json", bad_words_ids=[5])
    assert "bad_words_ids must be" in refusal(folder)


def test_the_format_is_recognized_by_the_type_of_model(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    assert recognized(folder) == "hugging_face"


def refusal(folder):
    with pytest.raises(ValueError) as error:
        read(folder)
    assert str(folder) in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model_type": "m2m_100"}, "'m2m_100'.*'marian'"),
        ({"d_model": "gone"}, "d_model"),
        ({"d_model": 32}, "shape"),
        ({"encoder_layers": 0}, "encoder_layers=0"),
        ({"encoder_layers": 3}, r"no tensor model.encoder.layers.2"),
        ({"encoder_layers": 1}, r"model.encoder.layers.1"),
        ({"decoder_ffn_dim": 48}, "same ffn_dim. Received: 24 and 48"),
        ({"decoder_attention_heads": 2}, "same attention_heads. Received: 4 and 2"),
        ({"activation_function": "tanh"}, "activation_function.*'relu'.*'tanh'"),
        ({"scale_embedding": "yes"}, "scale_embedding"),
        ({"dropout": 2}, "dropout"),
        ({"eos_token_id": 2}, "eos_token_id.*ids 0 and 2"),
        ({"eos_token_id": [0]}, "eos_token_id"),
        ({"decoder_start_token_id": 41}, "decoder_start_token_id 41"),
        ({"num_beams": 0}, "num_beams"),
        ({"length_penalty": -1}, "length_penalty"),
        ({"tie_word_embeddings": False}, "lm_head.weight"),
        ({"share_encoder_decoder_embeddings": False}, "model.encoder.embed_tokens.weight"),
    ],
)
def test_refused_settings_are_named(tmp_path, settings, message):
    folder = write_folder(tmp_path / "model", "tied", **settings)
    assert re.search(message, refusal(folder), re.DOTALL)


def test_tied_matrices_that_differ_are_refused(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    change_tensors(folder, lm_head__weight=np.ones((41, 16)))
    assert "model.shared.weight and lm_head.weight differ" in refusal(folder)


def test_a_shared_matrix_that_is_not_used_is_refused(tmp_path):
    folder = write_folder(tmp_path / "model", "two_vocabularies")
    change_tensors(folder, model__shared__weight=np.ones((41, 16)))
    assert "does not have, so it is not imported: model.shared.weight" in refusal(folder)


def test_a_damaged_sentencepiece_model_is_named(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    (folder / "target.spm").write_bytes(SPM[:100])
    assert "target.spm is not a SentencePiece model" in refusal(folder)


def test_positions_must_be_those_of_the_formula(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    pairs = 1e4 ** (-np.arange(8) / 8)
    angles = np.arange(20)[:, None] * pairs
    table = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    change_tensors(folder, model__encoder__embed_positions__weight=table)
    read(folder)
    change_tensors(folder, model__encoder__embed_positions__weight=table[::-1])
    assert "positions" in refusal(folder)


def test_a_tensor_that_is_not_in_the_paper_is_named(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    change_tensors(folder, model__encoder__layernorm_embedding__weight=np.ones(16))
    assert "model.encoder.layernorm_embedding.weight" in refusal(folder)


@pytest.mark.parametrize("name", ["vocab.json", "source.spm", "target.spm"])
def test_a_missing_file_is_named(tmp_path, name):
    folder = write_folder(tmp_path / "model", "tied")
    (folder / name).unlink()
    assert f"has no {name}" in refusal(folder)


def test_missing_weights_are_reported_with_both_names(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    (folder / "model.safetensors").unlink()
    assert "model.safetensors nor pytorch_model.bin" in refusal(folder)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ({"</s>": 0, "<unk>": 0}, "the same id"),
        ({"</s>": 41}, "from 0 to 40"),
        ({"</s>": "0"}, "from 0 to 40"),
        ({"<unk>": 1}, "</s>"),
    ],
)
def test_ids_that_do_not_fit_the_matrix_are_refused(tmp_path, tokens, message):
    folder = write_folder(tmp_path / "model", "tied")
    (folder / "vocab.json").write_text(json.dumps(tokens))
    assert message in refusal(folder)


def test_rows_without_a_token_keep_their_place(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    write_ids(folder / "vocab.json", TOKENS[:38])
    imported = read(folder)
    assert imported.config.vocab_size == 42  # their 41, begin
    assert imported.target.pieces[-3:] == [TOKENS[37], "<unused_38>", "<unused_39>"]
    np.testing.assert_array_equal(
        imported.weights["embedding/matrix"].read()[[-1, 1]],
        HuggingFaceFolder(folder).tensors.take("model.shared.weight").read()[[39, 40]],
    )


def test_padding_without_a_token_is_found_by_its_id_and_never_written(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    write_ids(folder / "vocab.json", TOKENS[:40])
    check_logits(model_of(read(folder)), "tied")
    change(folder, pad_token_id="gone")
    assert read(folder).config.vocab_size == 43  # their row 40 is a token without a name


def test_two_vocabularies_with_one_matrix_are_refused(tmp_path):
    folder = write_folder(tmp_path / "model", "tied")
    write_ids(folder / "target_vocab.json", [*TOKENS[:39], "other", "<pad>"])
    assert "target_vocab.json differ" in refusal(folder)
