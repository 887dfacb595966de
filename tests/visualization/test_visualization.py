"""Pictures of attention and of learning: what they hold, and the command that makes them."""

import json
import re

import matplotlib.image
import numpy as np
import pytest
from commands import command

from pipelines.normalization import Normalization
from pipelines.tokenizers import save_tokenizer
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import VocabularyConfig, learn
from t2t_keras.experiment import Experiment
from t2t_keras.runs.run import Run
from t2t_keras.training.training_config import TrainingConfig
from t2t_keras.transformer_config import TransformerConfig
from t2t_keras.visualization.curves import curves
from t2t_keras.visualization.heads import heads_of, joined
from t2t_keras.visualization.heat_maps import heat_maps
from t2t_keras.visualization.page import page

SOURCE = [("The", 1), ("horse", 2), ("</s>", 1)]
READ = [("<s>", 1), ("Das", 1), ("Pferd", 3)]
WRITTEN = [("Das", 1), ("Pferd", 3), ("</s>", 1)]
IMAGES = {"encoder-1-self_attention", "decoder-1-self_attention", "decoder-1-cross_attention"}
ODD_WORDS = [
    *("</script><script>alert(1)</script>", "<!--", "<b>", "&amp;", "$x^2$", "\\frac{", "%s"),
    *(
        "日本語",
        "한국어",
        "עברית",
        "العربية",
        "हिन्दी",
        "🙂",
        "\ufffd",
        "a\nb",
        "{{data}}",
        "x" * 300,
    ),
]


def random_weights(queries, keys, heads=2):
    """Weights whose rows sum to 1: `[1, heads, queries, keys]`."""
    weights = np.random.default_rng(queries).random((1, heads, queries, keys)) ** 4
    return (weights / weights.sum(-1, keepdims=True)).astype("float32")


def sub_layers():
    """As a model of two layers gives them, for `SOURCE`, `READ` and `WRITTEN`."""
    encoder = {f"encoder/{layer}/self_attention": random_weights(4, 4) for layer in range(2)}
    decoder = {}
    for layer in range(2):
        decoder[f"decoder/{layer}/self_attention"] = random_weights(5, 5)
        decoder[f"decoder/{layer}/cross_attention"] = random_weights(5, 4)
    return encoder | decoder


def data_of(html):
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S).group(1))


def test_two_words_joined_by_hand():
    pieces = [[0.1, 0.2, 0.7], [0.5, 0.3, 0.2], [0.0, 0.4, 0.6]]
    expected = [[0.3, 0.7], [(0.5 + 0.3 + 0.0 + 0.4) / 2, (0.2 + 0.6) / 2]]
    # Looking: a word of one piece and one of two. Looked at: the other way round.
    np.testing.assert_allclose(joined(pieces, [1, 2], [2, 1]), expected)


def test_joined_weights_still_sum_to_one_and_lone_pieces_stay():
    weights = random_weights(5, 4)[0]
    np.testing.assert_allclose(joined(weights, [1, 3, 1], [2, 2]).sum(-1), 1, rtol=1e-6)
    np.testing.assert_array_equal(joined(weights, [1] * 5, [1] * 4), weights)


def test_words_that_do_not_fit_the_weights_are_refused():
    with pytest.raises(ValueError, match=r"must be \[\.\.\., 3, 4\]\. Received: .* \(5, 4\)"):
        joined(np.ones((5, 4)), [1, 2], [4])


def test_every_sub_layer_has_its_own_words():
    found = {heads.name: heads for heads in heads_of(sub_layers(), SOURCE, READ, WRITTEN)}
    assert set(found) == IMAGES | {name.replace("1", "2") for name in IMAGES}
    source, read, written = ([word for word, _ in words] for words in (SOURCE, READ, WRITTEN))
    assert found["encoder-2-self_attention"][4:] == (source, source)
    assert found["decoder-2-self_attention"][4:] == (written, read)
    assert found["decoder-2-cross_attention"][4:] == (written, source)
    for heads in found.values():
        assert heads.weights.shape == (2, 3, 3)
        np.testing.assert_allclose(heads.weights.sum(-1), 1, rtol=1e-6)


def test_heat_maps_are_an_image_of_the_weights(tmp_path):
    weights = np.array([np.eye(3), np.zeros((3, 3))])
    heat_maps(tmp_path / "a.png", weights, list("abc"), list("abc"), "title")
    pixels = matplotlib.image.imread(tmp_path / "a.png")[..., :3]
    height, width = pixels.shape[:2]
    assert 200 < height < 400 < width < 700
    dark = (pixels < [0.1, 0.25, 0.5]).all(-1) & (pixels[..., 2] > 0.3)  # the blue of a weight of 1
    cell = 1.8 * 100 / 3
    assert 2.7 * cell**2 < dark[:, : width // 2].sum() < 3.3 * cell**2
    assert dark[:, width // 2 : width - 100].sum() < 0.05 * cell**2


def test_long_sentences_and_many_heads_make_an_image_that_can_be_opened(tmp_path):
    words = [f"word{number}" for number in range(150)]
    heat_maps(tmp_path / "a.png", np.ones((5, 150, 150)) / 150, words, words, "title")
    height, width = matplotlib.image.imread(tmp_path / "a.png").shape[:2]
    assert 2000 < height < 5000 < width * 1.2 < 6000


def test_words_of_any_script_are_drawn_without_a_warning(tmp_path):
    count = len(ODD_WORDS)
    weights = random_weights(count, count)[0]
    heat_maps(tmp_path / "a.png", weights, ODD_WORDS, ODD_WORDS, "a $title_ {")
    assert matplotlib.image.imread(tmp_path / "a.png").shape[0] > 300


def test_the_page_holds_the_weights():
    found = heads_of(sub_layers(), SOURCE, READ, WRITTEN)
    data = data_of(page(found, "The horse", "Das Pferd"))
    assert (data["sentence"], data["translation"]) == ("The horse", "Das Pferd")
    assert list(data["kinds"]) == ["encoder-self", "decoder-self", "decoder-cross"]
    for heads in found:
        kind = data["kinds"][f"{heads.stack}-{heads.kind.removesuffix('_attention')}"]
        assert (kind["looking"], kind["lookedAt"]) == (heads.looking, heads.looked_at)
        weights = np.array(kind["layers"][heads.layer - 1]) / 1000
        np.testing.assert_allclose(weights, heads.weights, atol=0.0005001)


def test_nothing_in_a_word_gets_out_of_the_pages_data():
    words = [(word, 1) for word in ODD_WORDS]
    count = len(words)
    weights = {"encoder/0/self_attention": random_weights(count, count)}
    sentence = " ".join(ODD_WORDS)
    html = page(heads_of(weights, words, [], []), sentence, sentence)
    empty = page([], "", "")
    assert html.count("<") == empty.count("<") and html.count("&") == empty.count("&")
    data = data_of(html)
    assert data["sentence"] == sentence
    assert data["kinds"]["encoder-self"]["looking"] == ODD_WORDS


def test_the_page_needs_nothing_from_elsewhere():
    html = page(heads_of(sub_layers(), SOURCE, READ, WRITTEN), "The horse", "Das Pferd")
    assert not re.search(r"https?:|//[a-z]+\.|\bsrc=|\bhref=|@import|url\(", html)
    assert "default-src 'none'" in html


def test_curves_leave_out_what_a_run_does_not_have(tmp_path):
    runs = {
        "whole": [
            {"step": s, "loss": 5 - s, "train_loss": 6 - s, "perplexity": 50 / s, "bleu": s}
            for s in (1, 2, 3)
        ],
        "an $odd_ name": [{"step": 2, "train_loss": 3.0, "bleu": None}],
        "diverged": [{"step": 1, "loss": float("nan")}, {"step": 2, "loss": float("inf")}],
        "nothing": [{"step": 1}],
    }
    curves(tmp_path / "all.png", runs)
    curves(tmp_path / "none.png", {"nothing": runs["nothing"]})
    drawn, blank = (matplotlib.image.imread(tmp_path / f"{name}.png") for name in ("all", "none"))
    assert drawn.shape[1] == blank.shape[1] == 1100
    assert (drawn[..., :3] < 0.9).any(-1).mean() > 1.5 * (blank[..., :3] < 0.9).any(-1).mean()


@pytest.fixture(scope="module", params=["sinusoidal"])
def trained(request, tmp_path_factory):
    """A run that was never trained, but has all that a run has."""
    folder = tmp_path_factory.mktemp("run") / "toy"
    texts = map(Normalization(), (side for pair in pairs(300) for side in pair))
    tokenizer = learn(texts, VocabularyConfig(size=400))
    save_tokenizer(tokenizer, folder.parent / "vocabulary")
    positions = {"positions": request.param}
    if request.param == "learned":
        positions["max_length"] = 60
    experiment = Experiment(
        model=TransformerConfig(
            vocab_size=400, num_layers=1, d_model=16, d_ff=16, num_heads=2, **positions
        ),
        training=TrainingConfig(evaluate_every=700),
    )
    target = Run(folder)
    target.begin(experiment, folder.parent / "vocabulary")
    target.experiment().new_model().save_weights(target.averaged_weights)
    return folder


def test_attention_of_a_run(trained, tmp_path):
    options = ["--extra_length=3", "--beam=1", f"--output={tmp_path / 'out'}"]
    result = command("attention", trained, "The <b> horse sleeps.", *options)
    assert result.returncode == 0, result.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"{name}.png" for name in IMAGES} | {"index.html"}
    data = data_of((tmp_path / "out" / "index.html").read_text())
    assert data["sentence"] == "The <b> horse sleeps."
    assert data["translation"] == result.stdout.splitlines()[0]
    kinds = data["kinds"]
    assert kinds["encoder-self"]["looking"] == ["The", "<b>", "horse", "sleeps.", "</s>"]
    assert kinds["decoder-self"]["looking"][-1] == "</s>"
    assert kinds["decoder-self"]["lookedAt"][0] == "<s>"
    for kind in kinds.values():
        np.testing.assert_allclose(np.array(kind["layers"]).sum(-1), 1000, atol=6)


def test_attention_of_a_given_translation_in_pieces(trained, tmp_path):
    text = ["The horse sleeps.", "--translation=Das Pferd 日."]
    for name, options in (("words", []), ("pieces", ["--pieces"])):
        result = command("attention", trained, *text, *options, f"--output={tmp_path / name}")
        assert result.returncode == 0, result.stderr
        assert result.stdout.splitlines()[0] == "Das Pferd 日."
    words, pieces = (
        data_of((tmp_path / name / "index.html").read_text())["kinds"]["decoder-cross"]
        for name in ("words", "pieces")
    )
    assert words["looking"] == ["Das", "Pferd", "日.", "</s>"]
    assert "<0xE6>" in pieces["looking"] and pieces["looking"][-1] == "</s>"
    assert words["lookedAt"] == ["The", "horse", "sleeps.", "</s>"]
    assert "".join(pieces["lookedAt"]) == "▁The▁horse▁sleeps.</s>"


@pytest.mark.parametrize("trained", ["learned"], indirect=True)
@pytest.mark.parametrize("arguments", [["a " * 100], ["A dog.", "--translation=" + "z " * 100]])
def test_a_sentence_beyond_the_learned_positions_is_refused(trained, tmp_path, arguments):
    result = command("attention", trained, *arguments, f"--output={tmp_path / 'out'}")
    assert result.returncode == 2, result.stderr
    assert "longer than its learned positions, which end at 60" in result.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_curves_of_runs(trained, tmp_path):
    output = [f"--output={tmp_path / 'out'}"]
    early = command("attention", "--curves", trained, *output)
    assert early.returncode == 2
    assert "no evaluation in its metrics.jsonl yet. The first comes after 700" in early.stderr
    line = json.dumps({"step": 1, "loss": 2.0})
    (trained / "metrics.jsonl").write_text(f'{line}\n{line}\n{{"step": 2, "lo')
    result = command("attention", "--curves", trained, trained, *output)
    (trained / "metrics.jsonl").unlink()
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{tmp_path / 'out' / 'curves.png'}\n"
    assert matplotlib.image.imread(tmp_path / "out" / "curves.png").shape[1] == 1100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes a run's folder and one sentence"),
        (["{0}"], "takes a run's folder and one sentence"),
        (["{0}", "two", "words"], "one sentence in quotation marks"),
        (["{0}/none", "A dog."], "is no run: it has no config.json"),
        (["{0}", "  "], "the sentence is empty"),
        (["{0}", "A dog.", "--translation="], "the translation is empty"),
        (["{0}", "A dog.", "--weights=oldest"], "has no weights 'oldest'"),
        (["{0}", "A dog.", "--peices"], "Unknown command line flag 'peices'"),
        (["{0}", "A dog.", "--translation=Ein Hund.", "--output={0}/config.json"], "File exists"),
        (["--curves"], "--curves takes the folders of one or several runs"),
        (["--curves", "{0}/vocabulary"], "is no run: it has no config.json"),
    ],
)
def test_attention_names_what_is_wrong(trained, arguments, message):
    result = command("attention", *(argument.format(trained) for argument in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
