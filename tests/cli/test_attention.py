"""t2t-attention writes images and a page of the attention on a sentence, and learning curves."""

import json
import re

import matplotlib.image
import numpy as np
import pytest
from support.processes.commands import command
from support.processes.in_process import ended
from support.runs.untrained import toy_tokenizer, untrained_run

IMAGES = {"encoder-1-self_attention", "decoder-1-self_attention", "decoder-1-cross_attention"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attention")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    return untrained_run(folder / "run", folder / "vocabulary", tokenizer).folder


def data_of(folder):
    html = (folder / "index.html").read_text()
    return json.loads(re.search(r'id="data">(.*?)</script>', html, re.S).group(1))


@pytest.mark.long
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


@pytest.mark.long
def test_a_given_translation_is_shown_between_pieces(run, tmp_path):
    flags = ["--translation=Das Pferd 日.", "--pieces", f"--output={tmp_path}"]
    result = command("attention", run, "The horse sleeps.", *flags)
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[0] == "Das Pferd 日."
    pieces = data_of(tmp_path)["kinds"]["decoder-cross"]
    assert "<0xE6>" in pieces["queries"]
    assert "".join(pieces["keys"]) == "▁The▁horse▁sleeps.</s>"


@pytest.mark.long
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
        (["{0}", "A dog.", "--output={0}/config.json"], "Not a directory"),
        (["--curves", "{0}", "--output={0}/config.json/x"], "Not a directory"),
        (["{0}", "A dog.", "--translation=Ein Hund.", "--beam=2"], "--beam has no effect with"),
        (["--curves", "{0}", "--translation=Ein Hund."], "--translation has no effect with --c"),
        (["--curves", "{0}", "--pieces"], "--pieces has no effect with --curves: leave it out"),
        (["--curves", "{0}", "--weights=best"], "--weights has no effect with --curves"),
        (["--curves", "{0}", "--nosample"], "--sample has no effect with --curves"),
        (["--curves"], "--curves takes the folders of one or several runs"),
        (["--curves", "{0}/vocabulary"], "is not a run: it has no config.json"),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(run, arguments, message):
    result = ended("attention", *(argument.format(run) for argument in arguments))
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr


@pytest.mark.long
def test_a_chosen_head_is_stored_and_aligns(run, tmp_path):
    (tmp_path / "en").write_text("The dog sleeps.\nA cat\n")
    (tmp_path / "de").write_text("Der Hund schläft.\nEine Katze\n")
    (tmp_path / "gold").write_text("0-0 1-1 2p2\n0-0\n")
    flags = ["--choose_alignment", f"--source={tmp_path / 'en'}", f"--target={tmp_path / 'de'}"]
    result = command("attention", run, *flags, f"--gold={tmp_path / 'gold'}")
    assert result.returncode == 0, result.stderr
    best = result.stdout.splitlines()[0]
    assert re.match(r"AER +[\d.]+%  agreement +[\d.]+%  layer 1, (head \d|mean of heads), ", best)
    stored = json.loads((run / "alignment.json").read_text())
    assert best.startswith(f"AER {stored['error_rate']:6.1%}")
    unaligned = command("attention", run, *flags)
    assert unaligned.stdout.startswith("agreement"), unaligned.stderr
    (tmp_path / "gold").write_text("0-0\n0:0\n")
    result = command("attention", run, *flags, f"--gold={tmp_path / 'gold'}")
    assert result.returncode == 2 and f"{tmp_path / 'gold'}, line 2: a link must" in result.stderr


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--choose_alignment"], "--choose_alignment takes a run's folder, --source and --target"),
        (["--gold=x"], "--gold has no effect without --choose_alignment"),
        (
            ["--choose_alignment", "--source=x", "--target=y", "--pieces"],
            "--pieces has no effect with --choose_alignment",
        ),
    ],
)
def test_flags_that_do_not_choose_an_alignment_are_refused(run, flags, message):
    result = command("attention", run, *flags)
    assert result.returncode == 2
    assert message in result.stderr
