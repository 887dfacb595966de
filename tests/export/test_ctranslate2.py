"""CTranslate2, with an exported model, computes what our model computes."""

import sys

import ctranslate2
import numpy as np
import pytest
import sentencepiece
from support.models.helpers import OTHER_SYSTEMS, array, disturbed, tiny_model
from support.models.searches import run_search

from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from pipelines.toy.grammar import pairs
from t2t_keras.decoding.alignment import AlignmentHead, attention_between
from t2t_keras.decoding.batches import padded
from t2t_keras.decoding.scoring import log_probabilities
from t2t_keras.export.ctranslate2 import save_ctranslate2

TEXTS = [english for english, _ in pairs(20)]
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
def folder(tmp_path_factory, model, pieces, tokenizer):
    """The exported model, with its SentencePiece model."""
    parent = tmp_path_factory.mktemp("ctranslate2")
    save_ctranslate2(model, pieces, parent / "model")
    (parent / "model" / "bpe.model").write_bytes(tokenizer.model)
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
    matrix = array(model.embedding.matrix).copy()
    matrix[2], matrix[:, 4], matrix[2, 4] = 0, 0, 60
    model.embedding.matrix.assign(matrix)
    bias = np.zeros(SIZE, "float32")
    bias[:3] = -30, -30, -20
    model.output_embedding.bias.assign(bias)
    return model


def theirs(folder, pieces, source, **options):
    """Returns CTranslate2's results, by default with settings equal to ours for α = 0."""
    options = {"beam_size": 4, "length_penalty": 0, "max_decoding_length": LIMIT, **options}
    options |= {"min_decoding_length": 0, "return_scores": True, "return_end_token": True}
    translator = ctranslate2.Translator(str(folder), intra_threads=1)
    return translator.translate_batch([pieces_of(pieces, row)[:-1] for row in source], **options)


def pieces_of(pieces, ids):
    return [pieces[id] for id in ids if id]


def check_log_p(folder, model, pieces, source, error):
    """Compares log P of targets, in float32: the error of int8 depends on the processor."""
    target = source[::-1]
    translator = ctranslate2.Translator(str(folder), intra_threads=1, compute_type="float32")
    sides = ([pieces_of(pieces, row)[:-1] for row in ids] for ids in (source, target))
    expected = array(log_probabilities(model, source, target))
    for row, result in zip(expected, translator.score_batch(*sides), strict=True):
        np.testing.assert_allclose(result.log_probs, row[: len(result.log_probs)], rtol=error)


@pytest.mark.long
def test_both_searches_find_equal_translations(folder, model, pieces, source):
    tokens, scores = run_search(model, source, length=LIMIT, extra_length=LIMIT, alpha=0.0)
    results = theirs(folder, pieces, source)
    best = [result.hypotheses[0] for result in results]
    assert best == [pieces_of(pieces, row) for row in tokens[:, 0]]
    np.testing.assert_allclose([r.scores[0] for r in results], scores[:, 0], 1e-4, atol=1e-4)
    assert len({*map(tuple, best)}) > 10 and len({*map(len, best)}) > 5


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
    model = tiny_model(**{"vocab_size": SIZE, "output_bias": True, **settings})
    disturbed(model, scale=0.3)
    if model.output_embedding.bias is not None:
        bias = array(model.output_embedding.bias).copy()
        bias[:2] = -1e4
        model.output_embedding.bias.assign(bias)
    save_ctranslate2(model, pieces, tmp_path / "model")
    # Without an output bias, our model gives padding and begin a share of the probability.
    error = 1e-3 if model.config.output_bias else 0.05
    check_log_p(tmp_path / "model", model, pieces, source[:3], error)


def test_padding_and_begin_are_never_written(tmp_path, pieces, source):
    model = make_model()
    bias = array(model.embedding.bias).copy()
    bias[:2] = 100
    model.embedding.bias.assign(bias)
    save_ctranslate2(model, pieces, tmp_path / "model")
    for result in theirs(tmp_path / "model", pieces, source, num_hypotheses=4):
        assert not {piece for row in result.hypotheses for piece in row} & set(pieces[:2])


def test_sentencepiece_alone_converts_text_to_pieces_and_back(folder, tokenizer, pieces, source):
    processor = sentencepiece.SentencePieceProcessor(str(folder / "bpe.model"))
    assert processor.encode(TEXTS, out_type=str) == [pieces_of(pieces, ids)[:-1] for ids in source]
    result = theirs(folder, pieces, source[:1])[0].hypotheses[0]
    ids = [pieces.index(piece) for piece in result]
    assert [processor.decode(result)] == tokenizer.decode([ids])


@pytest.mark.long
@pytest.mark.parametrize(
    ("choice", "settings"),
    [
        (None, {}),
        (AlignmentHead(0, 1), {}),
        (AlignmentHead(head=1), {"d_k": 3, "d_v": 10, "num_layers": 1}),
    ],
)
def test_returned_attention_is_that_of_the_chosen_head(pieces, source, tmp_path, choice, settings):
    model = make_model(**settings)
    save_ctranslate2(model, pieces, tmp_path / "model", alignment=choice)
    row = source[0][source[0] > 0]
    options = {"return_attention": True, "max_decoding_length": 5}
    result = theirs(tmp_path / "model", pieces, row[None], **options)[0]
    target = np.array([[pieces.index(piece) for piece in result.hypotheses[0]]])
    expected = array(attention_between(model, row[None], target, choice))[0]
    # CTranslate2 adds the end of the source itself and returns no column for it.
    np.testing.assert_allclose(result.attention[0], expected[:, :-1], atol=1e-5)
    if choice is not None:  # the chosen head comes first, which changes no result
        check_log_p(tmp_path / "model", model, pieces, source[:2], 1e-3)


@pytest.mark.parametrize(
    ("quantization", "size", "error"),
    [("bfloat16", 0.5, 0.05), ("float16", 0.5, 0.01), ("int8", 0.4, 0.2)],
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
    check_log_p(tmp_path / "model", model, pieces, source[:2], error)


NUMBERS = [str(id) for id in range(SIZE)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quantization": "int9"}, r"did you mean 'int8'"),
        ({"source_pieces": NUMBERS}, r"`source_pieces\[2\]` must be '</s>'"),
        ({"source_pieces": NUMBERS, "source_begin": True}, r"`source_pieces\[1\]` must be '<s>'"),
        ({"alignment": AlignmentHead(0, 2)}, "`head` must be from 0 to 1 .* Received: head=2"),
    ],
)
def test_mistakes_are_named_and_leave_nothing_behind(tmp_path, model, pieces, arguments, message):
    with pytest.raises(ValueError, match=message):
        save_ctranslate2(model, folder=tmp_path / "model", **{"pieces": pieces, **arguments})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("setting", "value", "allowed"),
    [
        ("positions", "t5", "'sinusoidal' .*'learned'"),
        ("attention", "additive", "'scaled'"),
        ("residual", False, "True"),
        ("layer_norm", False, "True"),
        ("neighbourhood", 3, "None"),
        ("decoder_neighbourhood", 3, "None"),
    ],
)
def test_models_that_ctranslate2_lacks_are_refused(tmp_path, pieces, setting, value, allowed):
    model = tiny_model(**{setting: value}, num_layers=1)
    with pytest.raises(ValueError, match=f"`{setting}` must be {allowed} .*={value!r}"):
        save_ctranslate2(model, pieces, tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_without_ctranslate2_the_error_says_what_to_install(tmp_path, model, pieces, monkeypatch):
    monkeypatch.setitem(sys.modules, "ctranslate2", None)
    with pytest.raises(ValueError, match=r'pip install "t2t-keras\[ctranslate2\]"'):
        save_ctranslate2(model, pieces, tmp_path / "model")
