"""A model.npz of Marian has the logits that its arrays give with the paper's formulas."""

import numpy as np
import pytest
from support.importing.imported_logits import check_logits
from support.importing.marian_folder import FFN, D, arrays, write
from support.importing.small_sentencepiece import unigram_model
from support.text.toy_tokenizers import toy_tokenizer

from t2t_keras.importing.marian import is_format, read

CONFIG = {
    **{"vocab_size": 13, "num_layers": 2, "decoder_layers": 1, "d_model": D, "d_ff": FFN},
    **{"num_heads": 2, "positions": "concatenated", "activation": "swish", "norm_epsilon": 1e-6},
    **{"attention_bias": True, "output_bias": True},
}
PRE = {"preprocess": "n", "postprocess": "da", "postprocess-top": "n"}
PRE = {f"transformer-{name}": value for name, value in PRE.items()}
FLAGS = {"no_bias": "transformer-no-bias", "no_affine": "transformer-no-affine"}


def reference_weights(model, source="Wemb", target="Wemb", output=None, decoder=(1,), pre=False):
    """Returns the reference's weights. Ours begin with padding and begin; then come Marian's."""

    def rows(matrix):
        return np.concatenate([np.zeros((2, D)), matrix])

    bias = np.concatenate([[-1e4, -1e4], model["decoder_ff_logit_out_b"][0]])
    weights = {"embedding/matrix": rows(model[target]), "embedding/bias": bias}
    if source != target:
        weights["source_embedding/matrix"] = rows(model[source])
    if output is not None:
        weights["output_embedding/matrix"] = rows(output)
        weights["output_embedding/bias"] = weights.pop("embedding/bias")
    suffix = "_pre" if pre else ""

    def norm(path, name, suffix):
        for part, ours in (("scale", "gamma"), ("bias", "beta")):
            default = np.full((1, D), part == "scale")
            weights[f"{path}/{ours}"] = model.get(f"{name}_ln_{part}{suffix}", default)[0]

    def dense(path, prefix, part):
        kernel = model[f"{prefix}_W{part}"]
        weights[f"{path}/kernel"] = kernel
        weights[f"{path}/bias"] = model.get(f"{prefix}_b{part}", np.zeros((1, kernel.shape[1])))[0]

    for stack, layers in (("encoder", (1, 2)), ("decoder", decoder)):
        for block, layer in enumerate(layers):
            ours, theirs = f"{stack}/block_{block}", f"{stack}_l{layer}"
            kinds = {"self": "self_attention"}
            if stack == "decoder":
                kinds["context"] = "cross_attention"
            for kind, sublayer in kinds.items():
                for part, name in zip("qkvo", ("query", "key", "value", "output"), strict=True):
                    dense(f"{ours}/{sublayer}/attention/{name}", f"{theirs}_{kind}", part)
                norm(f"{ours}/{sublayer}/norm", f"{theirs}_{kind}_Wo", suffix)
            dense(f"{ours}/feed_forward/network/inner", f"{theirs}_ffn", "1")
            dense(f"{ours}/feed_forward/network/outer", f"{theirs}_ffn", "2")
            norm(f"{ours}/feed_forward/norm", f"{theirs}_ffn_ffn", suffix)
        if pre:
            norm(f"{stack}/norm", f"{stack}_top", "")
    return weights


def test_logits_of_a_post_norm_model_with_one_matrix(tmp_path):
    model = arrays()
    folder = write(tmp_path, model)
    assert is_format(folder)
    imported = read(folder)
    check_logits(imported, reference_weights(model), CONFIG)
    assert imported.source is imported.target
    assert imported.target.pieces == ["<pad>", "<s>", "</s>", "<unk>", *"abcdefghi"]
    assert imported.target.kind == "tokens"
    assert imported.search == {"alpha": 0.0, "penalty": "marian", "banned": (3,)}


def test_logits_of_a_pre_norm_model_with_an_output_of_its_own(tmp_path):
    matrices = ("encoder_Wemb", "decoder_Wemb", "decoder_ff_logit_out_Wt")
    model = arrays(pre=True, matrices=matrices)
    settings = {**PRE, "tied-embeddings-all": "false", "transformer-ffn-activation": "relu"}
    imported = read(write(tmp_path, model, settings))
    weights = reference_weights(model, *matrices[:2], model[matrices[2]], pre=True)
    untied = {"source_vocab_size": 13, "tie_output": False}
    check_logits(imported, weights, {**CONFIG, "activation": "relu", "pre_norm": True, **untied})


def test_logits_with_tied_embeddings_of_the_target_alone(tmp_path):
    model = arrays(matrices=("encoder_Wemb", "decoder_Wemb"))
    settings = {"tied-embeddings-all": "false", "tied-embeddings": "true"}
    settings["transformer-ffn-activation"] = "gelu"
    imported = read(write(tmp_path, model, settings))
    weights = reference_weights(model, "encoder_Wemb", "decoder_Wemb")
    check_logits(imported, weights, {**CONFIG, "activation": "gelu", "source_vocab_size": 13})


@pytest.mark.long
@pytest.mark.parametrize("name", ["decoder_ff_logit_out_Wt", "decoder_ff_logit_out_W"])
def test_logits_with_tied_inputs_and_an_output_matrix_old_or_new(tmp_path, name):
    model = arrays(matrices=("Wemb", "decoder_ff_logit_out_Wt"))
    output = model["decoder_ff_logit_out_Wt"]
    if name.endswith("W"):
        model[name] = model.pop("decoder_ff_logit_out_Wt").T
    settings = {"tied-embeddings-all": "false", "tied-embeddings-src": "true"}
    imported = read(write(tmp_path, model, settings))
    check_logits(imported, reference_weights(model, output=output), CONFIG | {"tie_output": False})


def test_logits_with_tied_layers_in_the_decoder(tmp_path):
    model = arrays(layers=(2, 2))
    settings = {"dec-depth": 3, "transformer-tied-layers": "\n  - 2\n  - 1\n  - 2"}
    imported = read(write(tmp_path, model, settings))
    weights = reference_weights(model, decoder=(2, 1, 2))
    check_logits(imported, weights, CONFIG | {"decoder_layers": 3})


def test_logits_with_trained_positions_have_no_factor_on_embeddings(tmp_path):
    model = arrays(matrices=("Wemb", "Wpos"))
    imported = read(write(tmp_path, model))
    weights = reference_weights(model)
    weights |= {f"{side}_positions/table": model["Wpos"] for side in ("source", "target")}
    learned = {"positions": "learned", "max_length": 11, "embedding_scale": 1.0}
    check_logits(imported, weights, CONFIG | learned)


def test_absent_biases_are_zeros_and_absent_norms_ones_where_the_settings_say_so(tmp_path):
    model = arrays(no_bias=True, no_affine=True)
    del model["decoder_ff_logit_out_b"]
    settings = dict.fromkeys([*FLAGS.values(), "output-omit-bias"], "true")
    imported = read(write(tmp_path, model, settings))
    model["decoder_ff_logit_out_b"] = np.zeros((1, 11))
    check_logits(imported, reference_weights(model), CONFIG)


def test_two_vocabularies_share_a_matrix_as_separate_tokens(tmp_path):
    model = arrays()
    folder = write(tmp_path, model)
    (folder / "vocab.yml").rename(folder / "vocab.src.yml")
    target = ["</s>", "<unk>", *"rstuvwxyz"]
    (folder / "vocab.trg.txt").write_text("".join(f"{token}\n" for token in target))
    imported = read(folder)
    weights = reference_weights(model)
    weights["source_embedding/matrix"] = weights["embedding/matrix"]
    check_logits(imported, weights, CONFIG | {"source_vocab_size": 13})
    assert imported.source.pieces[4:] == list("abcdefghi")
    assert imported.target.pieces[4:] == list("rstuvwxyz")


def test_decoder_yml_names_files_and_settings_of_the_search(tmp_path):
    folder = write(tmp_path, arrays())
    (folder / "model.npz").rename(folder / "opus.model1.npz")
    np.savez(folder / "another.npz")
    (folder / "vocab.yml").rename(folder / "opus.yml")
    (folder / "decoder.yml").write_text(
        "relative-paths: true\nmodels:\n  - /old/place/opus.model1.npz\n"
        "vocabs: [opus.yml, opus.yml]\nbeam-size: 6  # wide\nnormalize: 0.6\nallow-unk: true\n"
    )
    imported = read(folder)
    assert imported.source is imported.target
    assert imported.search == {"alpha": 0.6, "penalty": "marian", "beam": 6}


def test_sentencepiece_models_beside_a_vocabulary_split_the_text(tmp_path):
    codes = ["</s>", "<unk>", ">>de<<", *"abcdefgh"]
    folder = write(tmp_path, arrays(), vocabulary=codes)
    models = unigram_model(80), unigram_model(90)
    (folder / "source.spm").write_bytes(models[0])
    (folder / "target.spm").write_bytes(models[1])
    imported = read(folder)
    assert imported.source.kind == imported.target.kind == "sentencepiece"
    assert (imported.source.model, imported.target.model) == models
    assert imported.source.codes and not imported.target.codes
    assert imported.source.pieces[4] == ">>de<<"
    assert imported.config.source_vocab_size == imported.config.vocab_size == 13


def test_a_sentencepiece_vocabulary_has_the_ids_of_its_pieces(tmp_path):
    model = toy_tokenizer("bpe")
    (contents,) = model.files().values()
    arrays_of_model = arrays()
    random = np.random.default_rng(2)
    arrays_of_model["Wemb"] = random.normal(size=(model.size, D)).astype("float32")
    arrays_of_model["decoder_ff_logit_out_b"] = np.zeros((1, model.size), "float32")
    folder = write(tmp_path, arrays_of_model)
    (folder / "vocab.yml").unlink()
    (folder / "vocab.spm").write_bytes(contents)
    imported = read(folder)
    # This SentencePiece model has its end at 2 and its unknown at 3.
    pieces = imported.target.pieces
    assert imported.target.kind == "sentencepiece" and imported.target.model == contents
    assert pieces[2:4] == [model.pieces([2])[0], model.pieces([3])[0]]
    assert pieces[6:] == model.pieces(range(4, model.size))
    matrix = imported.weights["embedding/matrix"].read()
    np.testing.assert_array_equal(matrix[[2, 3, 6]], arrays_of_model["Wemb"][[2, 3, 4]])


def test_float16_and_fortran_order_are_read(tmp_path):
    model = arrays()
    model["Wemb"] = np.asfortranarray(model["Wemb"].astype("float16"))
    check_logits(read(write(tmp_path, model)), reference_weights(model), CONFIG)


REFUSED_SETTINGS = [
    ({"type": "s2s"}, "type='s2s'"),
    ({"type": "multi-transformer"}, "multi-transformer"),
    ({"transformer-decoder-autoreg": "rnn"}, "transformer-decoder-autoreg='rnn'"),
    ({"transformer-decoder-autoreg": "average-attention"}, "average-attention"),
    ({"transformer-postprocess-emb": "nd"}, "transformer-postprocess-emb='nd'"),
    ({"transformer-ffn-activation": "sigmoid"}, "sigmoid"),
    ({"transformer-ffn-activation": '""'}, "transformer-ffn-activation=''"),
    ({"transformer-ffn-depth": 3}, "transformer-ffn-depth='3'"),
    ({"transformer-decoder-ffn-depth": 1}, "transformer-decoder-ffn-depth='1'"),
    ({"transformer-decoder-dim-ffn": 24}, "transformer-decoder-dim-ffn must be"),
    ({"transformer-no-projection": "true"}, "transformer-no-projection='true'"),
    ({"transformer-pool": "true"}, "transformer-pool"),
    ({"transformer-attention-mask": "alibi"}, "alibi"),
    ({"transformer-disable-position-embeddings": "true"}, "disable-position"),
    ({"lemma-dim-emb": 4}, "lemma-dim-emb='4'"),
    ({"ulr": "true"}, "ulr='true'"),
    ({"right-left": "true"}, "right-left"),
    ({**PRE, "transformer-postprocess-top": '""'}, "'n', 'a', ''"),
    ({"transformer-postprocess-top": "h"}, "'', 'an', 'h'"),
    ({"dim-vocabs": "[11, 11, 11]"}, "several sources"),
    ({"transformer-tied-layers": "[1, 1]"}, "transformer-tied-layers must be a list of 1"),
    ({"transformer-heads": 3}, "num_heads"),
    ({"transformer-heads": "many"}, "transformer-heads must be a whole number"),
    ({"transformer-heads": 0}, "must be positive"),
    ({"tied-embeddings-all": "perhaps"}, "tied-embeddings-all must be true or false"),
    ({"tied-embeddings-all": "false"}, "no tensor encoder_Wemb"),
    ({"dim-emb": 16}, r"Wemb must have the shape \(any, 16\)"),
    ({"enc-depth": 1}, "tensors that the paper's Transformer does not have"),
]


@pytest.mark.parametrize(("settings", "message"), REFUSED_SETTINGS)
def test_other_models_are_refused_by_the_name_of_the_setting(tmp_path, settings, message):
    folder = write(tmp_path, arrays(), settings)
    with pytest.raises(ValueError, match=message):
        read(folder)


REFUSED_ARRAYS = [
    ("decoder_l1_self_bq", None, "no tensor decoder_l1_self_bq"),
    ("encoder_l1_self_Wo_ln_scale", None, "no tensor encoder_l1_self_Wo_ln_scale"),
    ("encoder_l1_ffn_W2", np.zeros((12, 9), "float32"), "encoder_l1_ffn_W2 must have the shape"),
    ("encoder_l1_ffn_b2", np.zeros((8, 1), "float32"), "encoder_l1_ffn_b2 must have the shape"),
    ("encoder_emb_ln_scale_pre", np.zeros((1, 8), "float32"), "encoder_emb_ln_scale_pre"),
    ("Wemb", np.array([{}]), "Wemb holds object"),
]


@pytest.mark.parametrize(("name", "value", "message"), REFUSED_ARRAYS)
def test_missing_and_unknown_arrays_are_refused_by_name(tmp_path, name, value, message):
    model = arrays()
    model = {key: item for key, item in model.items() if key != name}
    if value is not None:
        model[name] = value
    folder = write(tmp_path, model)
    with pytest.raises(ValueError, match=message):
        read(folder)


FILES = [
    ({"vocab.de.yml": "a: 0"}, "two with the names vocab.source.yml.*vocab.de.yml, vocab.yml"),
    ({"vocab.yml": "a: 5"}, "Check that it belongs to the model"),
    (
        {"vocab.yml": "".join(f"'{i}': {i}\n" for i in range(12)) + "</s>: 12\n<unk>: 13"},
        "14 tokens, and the matrix 11 rows; </s> has the id 12 and <unk> 13. Check",
    ),
    ({"decoder.yml": "models: [a.npz, b.npz]"}, "an ensemble"),
    ({"decoder.yml": "normalize: much"}, "normalize must be a number"),
    ({"decoder.yml": "models: [a.npz]"}, "names a.npz, and .*a.npz does not exist"),
    ({"decoder.yml": "vocabs: [vocab.yml, vocab.yml, vocab.yml]"}, "one or two vocabularies"),
    ({"decoder.yml": "vocabs: [vocab.fsv]", "vocab.fsv": ""}, "must end with one of .spm"),
    ({"a.decoder.yml": "", "b.decoder.yml": ""}, "a.decoder.yml, b.decoder.yml"),
    ({"vocab.yml": None}, "It has: none"),
    ({"model.npz": None, "a.npz": "", "b.npz": ""}, "It has: "),
    ({"model.npz": "not an archive"}, "is not a whole .npz file"),
]


@pytest.mark.parametrize(("files", "message"), FILES)
def test_missing_or_ambiguous_files_are_refused_by_name(tmp_path, files, message):
    folder = write(tmp_path, arrays())
    for name, contents in files.items():
        if contents is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(contents)
    with pytest.raises(ValueError, match=message):
        read(folder)


@pytest.mark.parametrize(
    ("tokens", "count"), [("abcdefghi", 0), ("abcdefgh", 2), ("abcdefghij", 2)]
)
def test_a_vocabulary_of_another_size_than_the_matrix_is_noted(tmp_path, tokens, count):
    folder = write(tmp_path, arrays(), vocabulary=["</s>", "<unk>", *tokens])
    notes = read(folder).notes
    assert len(notes) == count
    for side, note in zip(("source", "target"), notes, strict=False):
        assert f"the {side} vocabulary has {len(tokens) + 2} tokens, and the matrix 11" in note
