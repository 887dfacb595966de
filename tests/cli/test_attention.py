"""t2t-attention writes images and a page of the attention on a sentence."""

import json
import re

import numpy as np
import pytest
from support.processes.in_process import ended, refused

IMAGES = {"encoder-1-self_attention", "decoder-1-self_attention", "decoder-1-cross_attention"}


@pytest.fixture(scope="module")
def run(new_run, tmp_path_factory):
    return new_run(tmp_path_factory.mktemp("attention") / "run").folder


def attention(*arguments):
    """Runs t2t-attention and returns the lines of its output."""
    result = ended("attention", *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def data_of(folder):
    html = (folder / "index.html").read_text()
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S).group(1))


@pytest.mark.long
def test_the_models_own_translation_is_shown_between_words(run, tmp_path):
    options = ["--extra_length=3", "--beam=1", f"--output={tmp_path / 'out'}"]
    translation, _ = attention(run, "The <b> horse sleeps.", *options)
    assert {path.stem for path in (tmp_path / "out").iterdir()} == {*IMAGES, "index"}
    data = data_of(tmp_path / "out")
    assert data["sentence"] == "The <b> horse sleeps."
    assert data["translation"] == translation
    kinds = data["kinds"]
    assert kinds["encoder-self"]["queries"] == ["The", "<b>", "horse", "sleeps.", "</s>"]
    assert kinds["decoder-self"]["queries"][-1] == "</s>"
    assert kinds["decoder-self"]["keys"][0] == "<s>"
    for kind in kinds.values():
        np.testing.assert_allclose(np.array(kind["layers"]).sum(-1), 1000, atol=6)


MISTAKES = {
    "{0}": "takes a run's folder and one sentence",
    "{0}/none 'A dog.'": "is not a run: it has no config.json",
    "{0} '  '": "the sentence is empty",
    "{0} 'A dog.' --translation=": "the translation is empty",
    "{0} 'A dog.' --weights=oldest": "has no weights 'oldest'",
    "{0} 'A dog.' --output={0}/config.json": "Not a directory",
    "{0} 'A dog.' --translation='Ein Hund.' --beam=2": "--beam has no effect with --translation",
    "{0} --choose_alignment": "--choose_alignment takes a run's folder, --source and --target",
    "{0} --choose_alignment --source=x --target=y --pieces": "--pieces has no effect with --choose",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(run, line, message):
    assert message in refused("attention", line, run)


@pytest.mark.long
def test_a_chosen_head_is_stored_and_aligns(run, tmp_path):
    (tmp_path / "en").write_text("The dog sleeps.\nA cat\n")
    (tmp_path / "de").write_text("Der Hund schläft.\nEine Katze\n")
    (tmp_path / "gold").write_text("0-0 1-1 2p2\n0-0\n")
    flags = ["--choose_alignment", f"--source={tmp_path / 'en'}", f"--target={tmp_path / 'de'}"]
    best, *_ = attention(run, *flags, f"--gold={tmp_path / 'gold'}")
    assert re.match(r"AER +[\d.]+%  agreement +[\d.]+%  layer 1, (head \d|mean of heads), ", best)
    stored = json.loads((run / "alignment.json").read_text())
    assert best.startswith(f"AER {stored['error_rate']:6.1%}")
    assert attention(run, *flags)[0].startswith("agreement")
    (tmp_path / "gold").write_text("0-0\n0:0\n")
    line = "{0} --choose_alignment --source={1}/en --target={1}/de --gold={1}/gold"
    assert f"{tmp_path}/gold, line 2: a link must" in refused("attention", line, run, tmp_path)
