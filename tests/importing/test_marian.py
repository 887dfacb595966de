"""A model.npz of Marian becomes the paper's model with the same weights."""

import numpy as np
import pytest
from support.importing.imported_model import check_model, model_of
from support.importing.marian_folder import CONFIG, D, arrays, weights_of, write
from support.importing.small_sentencepiece import unigram_model
from support.text.toy_tokenizers import toy_tokenizer

from t2t_keras.importing.formats import recognized
from t2t_keras.importing.marian import read

PRE = {
    **{"transformer-preprocess": "n", "transformer-postprocess": "da"},
    **{"transformer-postprocess-top": "n"},
}
SEPARATE, ACTIVATION = {"tied-embeddings-all": "false"}, "transformer-ffn-activation"
INPUTS = {"source": "encoder_Wemb", "target": "decoder_Wemb"}
OUTPUT = {"output": "decoder_ff_logit_out_Wt"}


def test_a_post_norm_model_with_one_matrix(tmp_path):
    model = arrays()
    model["Wemb"] = np.asfortranarray(model["Wemb"].astype("float16"))
    folder = write(tmp_path, model)
    assert recognized(folder) == "marian"
    imported = read(folder)
    check_model(imported, weights_of(model), CONFIG)
    model_of(imported)  # our model has these weights
    assert imported.source is imported.target
    assert imported.target.pieces == ["<pad>", "<s>", "</s>", "<unk>", *"abcdefghi"]
    assert imported.target.kind == "tokens"
    assert imported.search == {"alpha": 0.0, "penalty": "marian", "banned": (3,)}
    assert imported.notes == []


@pytest.mark.parametrize(
    ("matrices", "blocks", "settings", "config"),
    [
        (
            INPUTS | OUTPUT,
            {"pre": True},
            {**PRE, **SEPARATE, ACTIVATION: "relu"},
            {"activation": "relu", "pre_norm": True, "source_vocab_size": 13, "tie_output": False},
        ),
        (
            INPUTS,
            {},
            {**SEPARATE, "tied-embeddings": "true", ACTIVATION: "gelu"},
            {"activation": "gelu", "source_vocab_size": 13},
        ),
        (OUTPUT, {}, {**SEPARATE, "tied-embeddings-src": "true"}, {"tie_output": False}),
        (
            {},
            {"decoder": (2, 1, 2)},
            {"dec-depth": 3, "transformer-tied-layers": "\n  - 2\n  - 1\n  - 2"},
            {"decoder_layers": 3},
        ),
    ],
)
def test_matrices_and_layers_are_shared_as_the_settings_say(
    tmp_path, matrices, blocks, settings, config
):
    names = {"source": "Wemb", "target": "Wemb"} | matrices
    model = arrays(list(dict.fromkeys(names.values())), **blocks)
    imported = read(write(tmp_path, model, settings))
    check_model(imported, weights_of(model, **matrices, **blocks), CONFIG | config)


def test_an_output_matrix_of_an_early_version_is_transposed(tmp_path):
    model = arrays(["Wemb", OUTPUT["output"]])
    weights = weights_of(model, **OUTPUT)
    model["decoder_ff_logit_out_W"] = model.pop(OUTPUT["output"]).T
    settings = {"tied-embeddings-all": "false", "tied-embeddings-src": "true"}
    check_model(read(write(tmp_path, model, settings)), weights, CONFIG | {"tie_output": False})


def test_with_trained_positions_embeddings_have_no_factor(tmp_path):
    model = arrays(["Wemb", "Wpos"])
    weights = weights_of(model)
    weights |= {f"{side}_positions/table": model["Wpos"] for side in ("source", "target")}
    learned = {"positions": "learned", "max_length": 11, "embedding_scale": 1.0}
    check_model(read(write(tmp_path, model)), weights, CONFIG | learned)


def test_absent_biases_are_zeros_and_absent_norms_ones_where_the_settings_say_so(tmp_path):
    parts = ("_b", "_ln_", "_out_b")
    model = {name: array for name, array in arrays().items() if not any(p in name for p in parts)}
    flags = ("transformer-no-bias", "transformer-no-affine", "output-omit-bias")
    imported = read(write(tmp_path, model, dict.fromkeys(flags, "true")))
    check_model(imported, weights_of(model), CONFIG)


def test_two_vocabularies_share_a_matrix_as_separate_tokens(tmp_path):
    model = arrays()
    target = "".join(f"{token}\n" for token in ["</s>", "<unk>", *"rstuvwxyz"])
    folder = write(tmp_path, model, files={"vocab.trg.txt": target})
    (folder / "vocab.yml").rename(folder / "vocab.src.yml")
    imported = read(folder)
    weights = weights_of(model)
    weights["source_embedding/matrix"] = weights["embedding/matrix"]
    check_model(imported, weights, CONFIG | {"source_vocab_size": 13})
    assert imported.source.pieces[4:] == list("abcdefghi")
    assert imported.target.pieces[4:] == list("rstuvwxyz")


def test_decoder_yml_names_files_and_settings_of_the_search(tmp_path):
    decoder = (
        "relative-paths: true\nmodels:\n  - /old/place/opus.model1.npz\n"
        "vocabs: [opus.yml, opus.yml]\nbeam-size: 6  # wide\nnormalize: 0.6\nallow-unk: true\n"
    )
    folder = write(tmp_path, arrays(), files={"decoder.yml": decoder, "another.npz": ""})
    (folder / "model.npz").rename(folder / "opus.model1.npz")
    (folder / "vocab.yml").rename(folder / "opus.yml")
    imported = read(folder)
    assert imported.source is imported.target
    assert imported.search == {"alpha": 0.6, "penalty": "marian", "beam": 6}


def test_sentencepiece_models_beside_a_vocabulary_split_the_text(tmp_path):
    folder = write(tmp_path, arrays())
    models = unigram_model(80), unigram_model(90)
    for side, model in zip(("source", "target"), models, strict=True):
        (folder / f"{side}.spm").write_bytes(model)
    imported = read(folder)
    assert imported.source.kind == imported.target.kind == "sentencepiece"
    assert (imported.source.model, imported.target.model) == models
    assert imported.config.source_vocab_size is None  # one matrix


def test_a_sentencepiece_vocabulary_has_the_ids_of_its_pieces(tmp_path):
    tokenizer = toy_tokenizer("bpe")
    (contents,) = tokenizer.files().values()
    model = arrays()
    model["Wemb"] = np.arange(tokenizer.size * D, dtype="float32").reshape(-1, D)
    model["decoder_ff_logit_out_b"] = np.zeros((1, tokenizer.size), "float32")
    folder = write(tmp_path, model)
    (folder / "vocab.yml").unlink()
    (folder / "vocab.spm").write_bytes(contents)
    imported = read(folder)
    # This SentencePiece model has its end at 2 and its unknown at 3.
    assert imported.target.kind == "sentencepiece" and imported.target.model == contents
    ids = [2, 3, *range(4, tokenizer.size)]
    assert imported.target.pieces[2:4] + imported.target.pieces[6:] == tokenizer.pieces(ids)
    matrix = imported.weights["embedding/matrix"].read()
    np.testing.assert_array_equal(matrix[[2, 3, 6]], model["Wemb"][[2, 3, 4]])


def zeros(*shape):
    return np.zeros(shape, "float32")


MODEL, INNER = arrays(), "encoder_l1_ffn_W1"
NARROW = {INNER: zeros(8, 4), "encoder_l1_ffn_b1": zeros(1, 4), "encoder_l1_ffn_W2": zeros(4, 8)}
SINGLE = [  # settings with one or few values in the paper's model
    *("type", "lemma-dim-emb", "ulr", "right-left", "transformer-decoder-autoreg"),
    *("transformer-postprocess-emb", "transformer-ffn-activation", "transformer-ffn-depth"),
    *("transformer-decoder-ffn-depth", "transformer-attention-mask", "transformer-pool"),
    *("transformer-no-projection", "transformer-disable-position-embeddings"),
]
MANY = "".join(f"'{i}': {i}\n" for i in range(12)) + "</s>: 12\n<unk>: 13"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        *(({"settings": {name: "other"}}, f"has {name}='other'. Models") for name in SINGLE),
        ({"settings": {**PRE, "transformer-postprocess-top": '""'}}, "'n', 'a', ''"),
        ({"settings": {"dim-vocabs": "[11, 11, 11]"}}, "several sources"),
        ({"settings": {"tied-embeddings-all": "perhaps"}}, "embeddings-all` must be True or False"),
        ({"settings": SEPARATE}, "no tensor encoder_Wemb"),
        ({"settings": {"transformer-heads": 3}}, r"a divisor of .*, 8 and 8\. .*num_heads=3"),
        ({"model": MODEL | {INNER: zeros(7, 12)}}, rf"{INNER} must have the shape \(8, any\)"),
        ({"model": MODEL | {"encoder_l1_ffn_b1": zeros(1, 11)}}, r"b1 must have the shape \(12\)"),
        ({"model": MODEL | {"decoder_l1_adapter": zeros(2)}}, "so it is .*: decoder_l1_adapter"),
        ({"model": MODEL | NARROW}, r"the same widths .* \(4, 8, 8\), \(12, 8, 8\)"),
        ({"model": MODEL | {"Wemb": np.array([{}])}}, "Wemb.npy holds object"),
        ({"files": {"vocab.de.yml": "a: 0"}}, "vocab.source.yml.* has: vocab.de.yml, vocab.yml"),
        ({"files": {"vocab.yml": "a: 5"}}, "check that it belongs to the model"),
        (
            {"files": {"vocab.yml": MANY}},
            "14 tokens, and the matrix 11 rows; .* </s> has the id 12",
        ),
        ({"files": {"vocab.yml": None}}, "It has: none"),
        ({"files": {"decoder.yml": "models: [a.npz, b.npz]"}}, "an ensemble"),
        ({"files": {"decoder.yml": "models: [a.npz]"}}, "names a.npz, and .*a.npz does not exist"),
        ({"files": {"model.npz": None, "a.npz": "", "b.npz": ""}}, "must have one file model.npz"),
        ({"files": {"model.npz": "not an archive"}}, "is not a whole .npz file"),
    ],
)
def test_other_models_are_refused_by_the_name_of_what_is_wrong(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        read(write(tmp_path, **({"model": MODEL} | changes)))


@pytest.mark.parametrize("tokens", ["abcdefgh", "abcdefghij"])
def test_a_vocabulary_of_another_size_than_the_matrix_is_noted(tmp_path, tokens):
    source, target = read(write(tmp_path, arrays(), vocabulary=["</s>", "<unk>", *tokens])).notes
    assert f"the source vocabulary has {len(tokens) + 2} tokens, and the matrix 11" in source
    assert "the target vocabulary" in target
