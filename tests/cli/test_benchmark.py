"""t2t-benchmark at tiny sizes."""

import json
import re

import matplotlib.image
import numpy as np
import pytest
from support.processes.commands import command
from support.processes.in_process import ended, refused
from support.runs.reproduced import write_lines
from support.runs.untrained import SMALL, tiny_experiment, toy_tokenizer, untrained_run
from support.serving.serving_client import served

from pipelines.toy.grammar import pairs
from pipelines.toy.terms import Occurrence, TermSentence
from t2t_keras.cli.benchmarks import (
    document_runs,
    fixed_steps,
    litert_engines,
    real_text,
    table,
)
from t2t_keras.cli.benchmarks.document_runs import pronouns
from t2t_keras.cli.benchmarks.glossary import present_terms, terms_in_place
from t2t_keras.runs.settings_file import write_settings
from t2t_keras.transformer_config import TransformerConfig

SMALL_MODEL = [
    "--config.model.num_layers=1",
    "--config.model.d_model=16",
    "--config.model.d_ff=16",
    "--config.model.vocab_size=50",
]
OTHERS = ["LiteRT int8", "CTranslate2 float32", "CTranslate2 int8"]
# A config that evaluates on the first line only.
OWN_CONFIG = """
from t2t_keras.experiment import load_experiment
def get_config():
    experiment = load_experiment("quickstart")
    experiment.data.dev_pairs = 1
    return experiment
""".splitlines()


def benchmark(*arguments):
    """Runs t2t-benchmark and returns the lines of its output."""
    result = ended("benchmark", *arguments)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def columns(line):
    return re.split(" {2,}", line.strip())


@pytest.fixture
def one_litert(monkeypatch):
    """Leaves out LiteRT in float32: each conversion takes seconds."""
    monkeypatch.setattr(litert_engines, "SYSTEMS", {OTHERS[0]: "int8"})


def test_full_and_restricted_attention_are_timed_at_every_length():
    sizes = ["--lengths=16,8", "--neighbourhood=3", "--heads=2", "--d_model=8", "--rounds=1"]
    title, lengths, full, restricted = benchmark("attention", *sizes)
    assert "d_model = 8, h = 2" in title
    assert lengths.split() == ["n", "=", "8", "n", "=", "16"]
    assert full.startswith("full ") and restricted.startswith("r = 3 ")
    assert full.count(" ms") == restricted.count(" ms") == 2


@pytest.mark.long
def test_a_training_step_is_timed():
    title, speed, work, share = benchmark(
        *("train", *SMALL_MODEL, "--rows=4", "--length=6", "--rounds=1")
    )
    assert title.startswith("4 pairs of 6 + 6 tokens, float32, tensorflow")
    assert "tokens per second" in speed and "GFLOP/s" in work and "2048³ product's" in share


@pytest.mark.long
def test_greedy_and_beam_search_are_timed_alone_and_in_batches():
    title, systems, warm_up, *lines = benchmark(
        *("decode", *SMALL_MODEL, "--rows=3", "--length=4", "--source_length=4", "--rounds=1")
    )
    assert title.startswith("Sentences per second: 4 source tokens, 4 steps, float32, tensorflow")
    assert systems.split() == ["t2t_keras"] and warm_up.startswith("warm-up, s ")
    cases = ["greedy +batch 1", "beam 4 +batch 1", "greedy +batch 3", "beam 4 +batch 3"]
    for line, case in zip(lines, cases, strict=True):
        assert re.fullmatch(rf"{case} +\d+\.\d\d", line), line


@pytest.mark.long
def test_searches_are_timed_in_turn_with_ctranslate2(one_litert, capsys):
    experiment = tiny_experiment()
    experiment.model = TransformerConfig(**SMALL)
    experiment.search.beam = 1
    fixed_steps.measure(experiment, source_length=4, length=4, rows=1, rounds=1, beside=True)
    _, versions, meaning, systems, _, speeds = capsys.readouterr().out.splitlines()
    assert versions.startswith("CTranslate2 4") and "intra_threads=" in versions
    assert meaning == "In brackets: speed relative to CTranslate2 float32"
    assert columns(systems) == ["t2t_keras", "compiled by XLA", *OTHERS]
    ratios = re.findall(r"[\d.]+ \(([\d.]+)\)", speeds)
    assert len(ratios) == 5 and ratios[3] == "1.00"


@pytest.mark.long
def test_a_run_is_timed_on_text_and_finds_the_translations_of_ctranslate2(
    tmp_path, one_litert, capsys
):
    run = untrained_run(tmp_path / "run", tmp_path / "words", toy_tokenizer(tmp_path / "words"))
    experiment = run.experiment()
    experiment.search.beam = 1  # one search to compile
    write_settings(run.config_file, experiment)
    text = tmp_path / "text"
    text.write_text("The dog sleeps.\n\nThe dogs sleep.\nThe third line.\n")
    real_text.measure(run.folder, text, lines=3, rows=2, rounds=1, beside=True)
    lines = capsys.readouterr().out.splitlines()
    assert f"2 lines of {text}, in batches of 2, beam 1, alpha 0.6" in lines[0]
    assert "length_penalty=0." in lines[1] and "patience=2" in lines[1]
    systems = ["t2t_keras", *OTHERS]
    assert columns(lines[3]) == systems
    rows = {line[: table.NAME].strip(): columns(line[table.NAME :]) for line in lines[4:]}
    assert "first line of a command, s" in rows and "greedy   one line, 99 %, ms" in rows
    assert {len(cells) for cells in rows.values()} == {len(systems)}
    for name in ("greedy   different, alone", "greedy   different, in batches"):
        assert (rows[name][0], rows[name][2]) == ("0", "0")


@pytest.mark.long
def test_runs_are_compared_on_documents(tmp_path):
    words = tmp_path / "words"
    restricted = {"neighbourhood": 4, "decoder_neighbourhood": 4}
    for name, settings in {"full": {}, "restricted": restricted}.items():
        untrained_run(tmp_path / name, words, toy_tokenizer(words), end=4.0, **settings)
    # Forks, which must not happen in this process: it has used TensorFlow.
    runs = f"--runs={tmp_path}/full,{tmp_path}/restricted"
    sizes = ["--documents=2", "--words=20", f"--picture={tmp_path}/picture.png"]
    result = command("benchmark", "documents", runs, *sizes)
    assert result.returncode == 0, result.stderr
    _, head, *rows = result.stdout.splitlines()
    titles = ["tokens", "BLEU", "right pronouns, %"]
    titles += ["translation, s", "training step, s", "memory, MB"]
    assert columns(head) == titles
    rows = [row.split() for row in rows]
    assert [row[0] for row in rows] == ["full", "restricted"]
    tokens, bleu, pronouns, *costs = np.array([row[1:] for row in rows], dtype=float).T
    assert tokens[0] == tokens[1]
    assert (bleu >= 0).all() and (pronouns == 0).all() and (np.array(costs) > 0).all()
    assert matplotlib.image.imread(tmp_path / "picture.png").shape[0] == 380


@pytest.mark.long
def test_translations_of_documents_have_room_for_the_reference(tmp_path):
    words = tmp_path / "words"
    run = untrained_run(tmp_path / "run", words, toy_tokenizer(words), end=-9.0, extra_length=0)
    _, (line,) = document_runs.translated(run, np.array([[50, 60, 2]]), longest=40)
    assert len(run.tokenizer().target.encode([line])[0]) > 20


def test_pronouns_are_compared_at_their_places():
    source = "I have a lamp. It is old. We have the book. I find it. It is red."
    reference = (
        "Ich zeichne eine Lampe. Sie ist alt. Wir brauchen das Buch. Ich finde es. Es ist rot."
    )
    wrong = reference.replace("Sie ist", "Er ist").replace("finde es", "finde ihn")
    left_out = reference.replace(" Sie ist alt.", "")
    added = "Der Hund schläft. " + reference.replace(" Ich", " Der Hund schläft. Ich")
    short = "Ich habe eine Lampe. Sie ist alt."
    for output, right in ((reference, 3), (wrong, 1), (short, 1), (left_out, 2), (added, 3)):
        assert pronouns(source, reference, output) == (right, 3)
    assert pronouns("I sleep.", "Ich schlafe.", "") == (0, 0)


def test_ratios_are_of_speeds_also_where_times_are_shown(capsys):
    systems = {"t2t_keras": 2.0, "CTranslate2 float32": 8.0}
    table.print_speeds("speeds", systems)
    table.print_times("times", systems)
    assert [re.findall(r"\(.*?\)", line) for line in capsys.readouterr().out.splitlines()] == [
        ["(0.25)", "(1.00)"],
        ["(4.00)", "(1.00)"],
    ]


@pytest.mark.long
def test_batches_of_prepared_data_are_timed(toy_data):
    _, speed, first, late = benchmark("data", f"--data={toy_data[1]}", "--rounds=1", "--steps=3")
    assert "real tokens per second" in speed and "step 0" in first and "step 100,000" in late


@pytest.mark.long
def test_answers_of_a_server_are_timed_and_compared_with_lone_answers(exported):
    with served(exported("litert").parent, "--name=m") as (_, address):
        url = f"--url={address}/v1/models/m"
        sizes = ["--requests=20", "--connections=4"]
        title, speed, alone, together, compared = benchmark("serve", url, *sizes)
    assert title == "20 requests with one text each, 4 connections"
    assert "requests per second" in speed
    assert alone.startswith("alone") and together.startswith("together")
    assert compared.strip() == "20 answered; 0 differ from the single-request answer"


TEXTS = "--source={1} --target={1} --dev_source={1} --dev_target={1}"
HEADLINE = f"headline --config=multi30k:fast {TEXTS}"
MISTAKES = {
    "": "takes one subject: attention",
    "atention": "did you mean 'attention'",
    "documents": "documents needs --runs, such as --runs=runs/full,runs/restricted",
    "documents --runs=a/run,b/run": "--runs must have different names",
    "attention --lengths=8,x": "`lengths` must be",
    "decode --length=5": "--length must be at least --source_length",
    "decode --input=test.en": "--input has no effect without --run",
    "decode --run=mine": "--run needs --input",
    "decode --run=mine --input=x": "mine is not a run",
    "decode --run=mine --input=x --length=9": "--length has no effect with --run",
    "decode --run=mine --input=x --config.model.d_ff=9": "d_ff has no effect with --run",
    "train --beside=ctranslate2": "--beside has no effect on train",
    "data": "--data must be a folder",
    "glossary": "glossary needs --run",
    "serve": "--url must be the address",
    "serve --url=http://127.0.0.1:9/v1/models/m": "--url does not answer",
    "attention --config=big": "--config has no effect on attention",
    "attention --config.model.d_ff=9": "--config.model.d_ff has no effect on attention",
    "headline": "needs text to train and to evaluate on: --source, --target, --dev_source",
    "headline --source=x --target=x --dev_source=x --dev_target=x": "--source: no such file",
    f"headline {TEXTS}": "needs a small --config",
    f"{HEADLINE} --bleu=0": "--bleu must be between 0 and 100",
    f"{HEADLINE} --bleu=100": "--bleu must be between 0 and 100",
    f"{HEADLINE} --config.data.dev_pairs=9": "headline sets data.dev_pairs",
    f"{HEADLINE} --output={{0}}": "--output must be a new folder",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(tmp_path, line, message):
    text = tmp_path / "text"
    text.touch()
    assert message in refused("benchmark", line, tmp_path, text)


def test_the_places_of_terms_are_counted():
    case = TermSentence(
        "The dog sees a cat.",
        "Der Vogel sieht eine Maus.",
        [Occurrence("Vogel", "Hund", 1), Occurrence("Maus", "Katze", 4)],
    )
    for output, present, in_place in [
        ("Der Vogel sieht eine Maus.", 2, 2),
        ("Der Vogel sieht eine Katze. Maus.", 2, 1),
        ("Der Vogel sieht einen Hund.", 1, 0),
        ("Eine Maus sieht den Vogel.", 2, 1),
    ]:
        assert present_terms(output, case) == present
        assert terms_in_place(output, case) == in_place


@pytest.mark.long
def test_terms_are_measured_on_both_engines(exported_toy_run):
    _, run = exported_toy_run
    title, head, *rows = benchmark("glossary", f"--run={run}", "--sentences=1", "--rounds=1")
    assert "1 sentences" in title and head.split()[-1] == "sentence"
    assert len(rows) == 3 * 2 * 3
    assert all(" 100.0 % " in row for row in rows if "no terms" not in row), "none is lost"


@pytest.mark.long
def test_the_headline_is_a_row_with_the_time_from_text_to_a_bleu(tmp_path):
    for name, split, count in (("train", "train", 300), ("dev", "test", 20)):
        for side, lines in zip(("en", "de"), zip(*pairs(count, split), strict=True), strict=True):
            write_lines(tmp_path / f"{name}.{side}", lines)
    result = command(
        *("benchmark", "headline", "--bleu=1e-9", f"--output={tmp_path}/headline"),
        *(f"--source={tmp_path}/train.en", f"--target={tmp_path}/train.de"),
        *(f"--dev_source={tmp_path}/dev.en", f"--dev_target={tmp_path}/dev.de"),
        *(f"--config={write_lines(tmp_path / 'own.py', OWN_CONFIG)}", *SMALL_MODEL[:3]),
        *("--config.data.vocabulary.size=400", "--config.training.steps=4"),
        *("--config.training.evaluate_every=2", "--config.search.extra_length=0"),
        at_stage={},
    )
    assert result.returncode == 0, result.stderr
    head, _, row, _, note = result.stdout.splitlines()
    names, values = ([c.strip() for c in line.split("|")[1:-1]] for line in (head, row))
    cells = dict(zip(names, values, strict=True))
    assert cells["step"] in ("2", "4") and float(cells["minutes"]) > 0
    assert cells["config"].partition(", ")[2].startswith("model.num_layers=1, ")
    trained = json.loads((tmp_path / "headline" / "run" / "config.json").read_text())
    assert trained["experiment"]["data"]["dev_pairs"] == 0, "the whole text, not the config's lines"
    assert re.fullmatch(r"[0-9a-f]{10}(-dirty)?", cells["commit"]), "as in this checkout"
    assert f"greedy search on {tmp_path}/dev.en: nrefs:1|case:mixed" in note
