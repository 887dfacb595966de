"""CTranslate2, with an exported model, finds the translations that our own search finds."""

import sys

import ctranslate2
import numpy as np
import pytest
import sentencepiece
from support.models.helpers import OTHER_SYSTEMS, array, tiny_model
from support.models.searches import log_p_of, run_search

from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from pipelines.toy.grammar import pairs
from t2t_keras.decoding.alignment import AlignmentHead, attention_between
from t2t_keras.decoding.batches import padded
from t2t_keras.export.ctranslate2 import save_ctranslate2

TEXTS = [english for english, _ in pairs(100)]
SIZE, LIMIT = 400, 20


@pytest.fixture(scope="module")
def tokenizer():
    return learn([text for pair in pairs(100) for text in pair], VocabularyConfig(size=SIZE))


@pytest.fixture(scope="module")
def pieces(tokenizer):
    return tokenizer.pieces(range(SIZE))


@pytest.fixture(scope="module")
def source(tokenizer):
    return padded([[*ids, 2] for ids in tokenizer.encode(TEXTS)])


@pytest.fixture(scope="module")
def model():
    return make_model()


@pytest.fixture(scope="module")
def plain(model, source):
    """The results of our beam search without a length penalty."""
    return ours(model, source, alpha=0.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, model, pieces, tokenizer):
    """The exported model, with its SentencePiece model."""
    parent = tmp_path_factory.mktemp("ctranslate2")
    (parent / "bpe.model").write_bytes(tokenizer.model)
    save_ctranslate2(model, pieces, parent / "model", files=[parent / "bpe.model"])
    return parent / "model"


def make_model(**settings):
    """Makes a model with outputs of different lengths.

    The logit of the end follows one sinusoid of the positions.
    """
    model = tiny_model(**{"vocab_size": SIZE, "output_bias": True, **settings})
    random = np.random.default_rng(1)
    for weight in model.weights:
        if len(weight.shape) == 2:
            scale = 0.5 if weight.path.endswith("matrix") else 0.3
            weight.assign(random.normal(0, scale, weight.shape).astype("float32"))
    wave = 2 if model.config.positions in ("concatenated", "hugging_face") else 4
    for embedding in {model.embedding, model.output_embedding}:
        matrix = array(embedding.matrix).copy()
        matrix[2], matrix[:, wave], matrix[2, wave] = 0, 0, 60
        embedding.matrix.assign(matrix)
    if model.output_embedding.bias is not None:
        bias = np.zeros(SIZE, "float32")
        bias[:3] = -30, -30, -20
        model.output_embedding.bias.assign(bias)
    return model


def ours(model, source, **settings):
    return run_search(model, source, length=LIMIT, extra_length=LIMIT, **settings)


def theirs(folder, pieces, source, **options):
    """Returns CTranslate2's results, by default with settings equal to ours for α = 0."""
    options = {"beam_size": 4, "length_penalty": 0, "max_decoding_length": LIMIT, **options}
    options |= {"min_decoding_length": 0, "return_scores": True, "return_end_token": True}
    translator = ctranslate2.Translator(str(folder), intra_threads=1)
    return translator.translate_batch([pieces_of(pieces, row)[:-1] for row in source], **options)


def pieces_of(pieces, ids):
    return [pieces[id] for id in ids if id]


def check_same(results, pieces, tokens, scores, rtol=1e-4):
    best = [result.hypotheses[0] for result in results]
    assert best == [pieces_of(pieces, row) for row in tokens[:, 0]]
    np.testing.assert_allclose([r.scores[0] for r in results], scores[:, 0], rtol, atol=1e-4)


@pytest.mark.long
def test_beam_search_finds_equal_translations_for_100_sentences(folder, pieces, source, plain):
    check_same(theirs(folder, pieces, source), pieces, *plain)
    tokens = plain[0][:, 0]
    assert len({tuple(row) for row in tokens}) > 50 and len(set((tokens > 0).sum(-1))) > 10


def test_greedy_search_finds_equal_translations(folder, model, pieces, source):
    tokens, scores = ours(model, source[:20], beam=1, alpha=0.0)
    check_same(theirs(folder, pieces, source[:20], beam_size=1), pieces, tokens, scores)


@pytest.mark.long
@pytest.mark.parametrize(
    "settings",
    [
        {"output_bias": False, "num_layers": 1},
        {**OTHER_SYSTEMS, "source_vocab_size": SIZE},
        {"positions": "learned", "max_length": 80, "position_offset": 2, "d_k": 3, "d_v": 10},
        {"activation": "gelu", "attention_bias": True, "d_k": 9, "d_v": 5, "num_layers": 1},
        {"activation": "gelu_tanh", "positions": "hugging_face", "decoder_layers": 1},
    ],
)
def test_every_model_setting_is_exported(tmp_path, pieces, source, settings):
    model, source = make_model(**settings), source[:20]
    tokens, scores = ours(model, source, alpha=0.0)
    save_ctranslate2(model, pieces, tmp_path / "model")
    # Without an output bias, our model gives padding and begin a share of the probability.
    rtol = 1e-4 if model.config.output_bias else 0.02
    check_same(theirs(tmp_path / "model", pieces, source), pieces, tokens, scores, rtol)


@pytest.mark.long
def test_with_marians_penalty_both_find_equal_translations(folder, model, pieces, source, plain):
    source = source[:30]
    tokens, scores = (x[:, 0] for x in ours(model, source, alpha=1.0, penalty="marian"))
    ended = (tokens == 2).any(-1)
    assert (tokens[ended] != plain[0][:30, 0][ended]).any(-1).sum() > 2
    options = {"length_penalty": 1, "patience": 16, "num_hypotheses": 64}
    results = theirs(folder, pieces, source[ended], **options)
    for result, row, score in zip(results, tokens[ended], scores[ended], strict=True):
        # At the limit, theirs lets unfinished hypotheses compete.
        both = zip(result.scores, result.hypotheses, strict=True)
        best, hypothesis = max(each for each in both if each[1][-1] == "</s>")
        assert hypothesis == pieces_of(pieces, row)
        assert best == pytest.approx(score, rel=1e-4)


@pytest.mark.long
def test_gnmts_penalty_selects_our_translation_from_an_n_best_list(
    folder, model, pieces, source, plain
):
    source, alpha = source[:30], 1.5
    tokens, scores = (x[:, 0] for x in ours(model, source, alpha=alpha))
    ended = (tokens == 2).any(-1)
    assert (tokens[ended] != plain[0][:30, 0][ended]).any(-1).sum() > 2
    results = theirs(folder, pieces, source[ended], patience=16, num_hypotheses=64)
    for result, row, score in zip(results, tokens[ended], scores[ended], strict=True):
        best, hypothesis = max(
            (log_p / ((5 + len(hypothesis)) / 6) ** alpha, hypothesis)
            for hypothesis, log_p in zip(result.hypotheses, result.scores, strict=True)
            if hypothesis[-1] == pieces[2]
        )
        assert hypothesis == pieces_of(pieces, row)
        assert best == pytest.approx(score, rel=1e-4)


def test_padding_and_begin_are_never_written(tmp_path, pieces, source):
    model = make_model()
    bias = array(model.embedding.bias).copy()
    bias[:2] = 100
    model.embedding.bias.assign(bias)
    save_ctranslate2(model, pieces, tmp_path / "model")
    for result in theirs(tmp_path / "model", pieces, source[:20], num_hypotheses=4):
        assert not {piece for row in result.hypotheses for piece in row} & set(pieces[:2])


def test_sentencepiece_alone_converts_text_to_pieces_and_back(folder, tokenizer, pieces, source):
    processor = sentencepiece.SentencePieceProcessor(str(folder / "bpe.model"))
    assert processor.encode(TEXTS, out_type=str) == [pieces_of(pieces, ids)[:-1] for ids in source]
    result = theirs(folder, pieces, source[:1])[0].hypotheses[0]
    ids = [pieces.index(piece) for piece in result]
    assert [processor.decode(result)] == tokenizer.decode([ids])


def test_returned_attention_is_the_attention_of_our_alignments(folder, model, pieces, source):
    check_attention(folder, model, pieces, source)


@pytest.mark.parametrize("choice", [AlignmentHead(0), AlignmentHead(0, 1), AlignmentHead(1, 1)])
def test_returned_attention_is_that_of_the_chosen_head_and_the_search_is_as_before(
    folder, model, pieces, source, tmp_path, choice
):
    save_ctranslate2(model, pieces, tmp_path / "model", alignment=choice)
    check_attention(tmp_path / "model", model, pieces, source, choice)
    chosen, default = (theirs(path, pieces, source[:10]) for path in (tmp_path / "model", folder))
    assert [each.hypotheses for each in chosen] == [each.hypotheses for each in default]


def test_a_chosen_head_comes_first_also_if_d_k_and_d_v_differ(pieces, source, tmp_path):
    model, choice = make_model(d_k=3, d_v=10, num_layers=1), AlignmentHead(head=1)
    save_ctranslate2(model, pieces, tmp_path / "model", alignment=choice)
    check_attention(tmp_path / "model", model, pieces, source, choice)


def check_attention(folder, model, pieces, source, choice=None):
    row = source[0][source[0] > 0]
    options = {"return_attention": True, "max_decoding_length": 5}
    result = theirs(folder, pieces, row[None], **options)[0]
    target = np.array([[pieces.index(piece) for piece in result.hypotheses[0]]])
    expected = array(attention_between(model, row[None], target, choice))[0]
    # CTranslate2 adds the end of the source itself and returns no column for it.
    np.testing.assert_allclose(result.attention[0], expected[:, :-1], atol=1e-5)


@pytest.mark.parametrize(
    ("quantization", "size", "error"),
    [("float32", 1, 1e-5), ("bfloat16", 0.5, 0.02), ("float16", 0.5, 0.005), ("int8", 0.4, 0.1)],
)
def test_quantized_models_are_smaller_and_score_nearly_the_same(
    folder, tmp_path, model, pieces, source, quantization, size, error
):
    save_ctranslate2(model, pieces, tmp_path / "model", quantization)
    table = 2048 * 16 * 4  # bytes of the table of positions, which int8 leaves in float32
    unchanged = table if quantization == "int8" else 0
    paths = (tmp_path / "model", folder)
    sizes = [(path / "model.bin").stat().st_size - unchanged for path in paths]
    assert sizes[0] / sizes[1] == pytest.approx(size, abs=0.1)
    tokens = source[:2, :8].copy()
    tokens[:, -1] = 2
    # In float32, because the error of int8 products depends on the processor.
    translator = ctranslate2.Translator(
        str(tmp_path / "model"), intra_threads=1, compute_type="float32"
    )
    scored = translator.score_batch(
        [pieces_of(pieces, row)[:-1] for row in tokens],
        [pieces_of(pieces, row)[:-1] for row in tokens],
    )
    for row, result in zip(tokens, scored, strict=True):
        assert sum(result.log_probs) == pytest.approx(log_p_of(model, row, row), rel=error)


def test_only_force_replaces_a_folder_and_only_a_ctranslate2_model(tmp_path, model, pieces):
    folder = tmp_path / "model"
    save_ctranslate2(model, pieces, folder)
    with pytest.raises(ValueError, match="already exists"):
        save_ctranslate2(model, pieces, folder, "int8")
    before = (folder / "model.bin").stat().st_size
    save_ctranslate2(model, pieces, folder, "int8", force=True)
    assert (folder / "model.bin").stat().st_size < before
    (tmp_path / "letters").mkdir()
    with pytest.raises(ValueError, match="is not a CTranslate2 model, so it is not replaced"):
        save_ctranslate2(model, pieces, tmp_path / "letters", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["letters", "model"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantization": "int9"}, r"did you mean 'int8'"),
        (
            {"pieces": ["a"]},
            "`pieces` must be 400 distinct strings.* Received: 1 strings, 1 of them",
        ),
        ({"pieces": ["a"] * SIZE}, "Received: 400 strings, 1 of them distinct"),
        (
            {"source_pieces": [str(id) for id in range(SIZE)]},
            r"`source_pieces\[2\]` must be '</s>'",
        ),
        (
            {"source_pieces": [str(id) for id in range(SIZE)], "source_begin": True},
            r"`source_pieces\[1\]` must be '<s>'",
        ),
        ({"files": ["absent"]}, "absent does not exist"),
        ({"alignment": AlignmentHead(0, 2)}, "`head` must be from 0 to 1 .* Received: head=2"),
    ],
)
def test_mistakes_are_named_and_leave_nothing_behind(tmp_path, model, pieces, arguments, message):
    with pytest.raises(ValueError, match=message):
        save_ctranslate2(model, folder=tmp_path / "model", **{"pieces": pieces, **arguments})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("setting", "value"), [("positions", "rotary"), ("activation", "relu2")])
def test_kinds_that_ctranslate2_does_not_know_are_refused(
    tmp_path, pieces, monkeypatch, setting, value
):
    model = make_model(num_layers=1)
    monkeypatch.setattr(model.config, setting, value)
    with pytest.raises(ValueError, match=rf"`{setting}` must be one of .* {setting}='{value}'"):
        save_ctranslate2(model, pieces, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("setting", "value", "allowed"),
    [
        ("attention", "unscaled", "'scaled'"),
        ("attention", "additive", "'scaled'"),
        ("residual", False, "True"),
        ("layer_norm", False, "True"),
        ("neighbourhood", 3, "None"),
        ("decoder_neighbourhood", 3, "None"),
    ],
)
def test_models_that_ctranslate2_does_not_compute_are_refused(
    tmp_path, pieces, setting, value, allowed
):
    model = make_model(**{setting: value}, num_layers=1)
    with pytest.raises(ValueError, match=f"`{setting}` must be {allowed} .*={value!r}"):
        save_ctranslate2(model, pieces, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_without_ctranslate2_the_error_says_what_to_install(tmp_path, model, pieces, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ValueError, match=r'pip install "t2t-keras\[ctranslate2\]"'):
        save_ctranslate2(model, pieces, tmp_path / "model")
