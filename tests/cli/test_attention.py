"""t2t-attention writes images and a page of the attention on a sentence, and learning curves."""

import json
import re

import matplotlib.image
import numpy as np
import pytest
from commands import command
from untrained import toy_tokenizer, untrained_run

from t2t_keras.runs import Run

IMAGES = {"encoder-1-self_attention", "decoder-1-self_attention", "decoder-1-cross_attention"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run with sinusoidal and one with learned positions, neither trained."""
    folder = tmp_path_factory.mktemp("runs")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    learned = {"positions": "learned", "max_length": 60}
    for name, settings in (("sinusoidal", {}), ("learned", learned)):
        untrained_run(folder / name, folder / "vocabulary", tokenizer, **settings)
    return folder


@pytest.fixture(scope="module")
def run(runs):
    return runs / "sinusoidal"


def data_of(folder):
    html = (folder / "index.html").read_text()
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S).group(1))


def test_the_models_own_translation_is_shown_between_words(run, tmp_path):
    options = ["--extra_length=3", "--beam=1", f"--output={tmp_path / 'out'}"]
    result = command("attention", run, "The <b> horse sleeps.", *options)
    assert result.returncode == 0, result.stderr
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {f"{name}.png" for name in IMAGES} | {"index.html"}
    data = data_of(tmp_path / "out")
    assert data["sentence"] == "The <b> horse sleeps."
    assert data["translation"] == result.stdout.splitlines()[0]
    kinds = data["kinds"]
    assert kinds["encoder-self"]["queries"] == ["The", "<b>", "horse", "sleeps.", "</s>"]
    assert kinds["decoder-self"]["queries"][-1] == "</s>"
    assert kinds["decoder-self"]["keys"][0] == "<s>"
    for kind in kinds.values():
        np.testing.assert_allclose(np.array(kind["layers"]).sum(-1), 1000, atol=6)


def test_a_given_translation_is_shown_between_words_or_pieces(run, tmp_path):
    text, translation = "The horse sleeps.", "Das Pferd 日."
    flags = [f"--translation={translation}", "--pieces", f"--output={tmp_path}"]
    result = command("attention", run, text, *flags)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0] == translation
    pieces = data_of(tmp_path)["kinds"]["decoder-cross"]
    assert "<0xE6>" in pieces["queries"] and pieces["queries"][-1] == "</s>"
    assert "".join(pieces["keys"]) == "▁The▁horse▁sleeps.</s>"
    words = Run(run).attention(text, translation).heads[-1]
    assert words.queries == ["Das", "Pferd", "日.", "</s>"]
    assert words.keys == ["The", "horse", "sleeps.", "</s>"]


@pytest.mark.parametrize("arguments", [["a " * 100], ["A dog.", "--translation=" + "z " * 100]])
def test_a_sentence_beyond_the_learned_positions_is_refused(runs, tmp_path, arguments):
    result = command("attention", runs / "learned", *arguments, f"--output={tmp_path / 'out'}")
    assert result.returncode == 2, result.stderr
    assert "the model has learned positions for 60 tokens" in result.stderr.splitlines()[-1]
    assert not (tmp_path / "out").exists()


def test_curves_of_several_runs_are_drawn_into_one_image(run, tmp_path):
    output = [f"--output={tmp_path / 'out'}"]
    early = command("attention", "--curves", run, *output)
    assert early.returncode == 2
    assert "no evaluation in its metrics.jsonl yet. The first comes after 1,000" in early.stderr
    line = json.dumps({"step": 1, "loss": 2.0})
    (run / "metrics.jsonl").write_text(f'{line}\n{line}\n{{"step": 2, "lo')
    result = command("attention", "--curves", run, run, *output)
    (run / "metrics.jsonl").unlink()
    assert result.returncode == 0, result.stderr
    assert result.stdout == f"{tmp_path / 'out' / 'curves.png'}\n"
    assert matplotlib.image.imread(tmp_path / "out" / "curves.png").shape[1] == 1100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes a run's folder and one sentence"),
        (["{0}"], "takes a run's folder and one sentence"),
        (["{0}", "two", "words"], "one sentence in quotation marks"),
        (["{0}/none", "A dog."], "is not a run: it has no config.json"),
        (["{0}", "  "], "the sentence is empty"),
        (["{0}", "A dog.", "--translation="], "the translation is empty"),
        (["{0}", "A dog.", "--weights=oldest"], "has no weights 'oldest'"),
        (["{0}", "A dog.", "--peices"], "Unknown command line flag 'peices'"),
        (["{0}", "A dog.", "--translation=Ein Hund.", "--output={0}/config.json"], "File exists"),
        (["--curves"], "--curves takes the folders of one or several runs"),
        (["--curves", "{0}/vocabulary"], "is not a run: it has no config.json"),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(run, arguments, message):
    result = command("attention", *(argument.format(run) for argument in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr
