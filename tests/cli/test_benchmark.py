"""t2t-benchmark at tiny sizes."""

import json
import re

import matplotlib.image
import numpy as np
import pytest
from support.processes.commands import command
from support.processes.in_process import ended
from support.runs.reproduced import write_lines
from support.runs.untrained import toy_tokenizer, untrained_run
from support.serving.serving_client import served

from pipelines.toy.grammar import pairs
from pipelines.toy.terms import Occurrence, TermSentence
from t2t_keras.cli.benchmarks import document_runs, table
from t2t_keras.cli.benchmarks.document_runs import pronouns
from t2t_keras.cli.benchmarks.glossary import present_terms, terms_in_place
from t2t_keras.runs.settings_file import write_settings

SMALL_MODEL = [
    "--config.model.num_layers=1",
    "--config.model.d_model=16",
    "--config.model.d_ff=16",
    "--config.model.vocab_size=50",
]
SYSTEMS = [
    *("t2t_keras", "compiled by XLA"),
    *("LiteRT float32", "LiteRT int8"),
    *("CTranslate2 float32", "CTranslate2 int8"),
]


def texts(path):
    """Returns the flags of `headline` that name texts, all with the same path."""
    return [f"--{name}={path}" for name in ("source", "target", "dev_source", "dev_target")]


TEXTS = ["--config=multi30k:fast", *texts(__file__)]
# A config of one's own that evaluates on the first line only.
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


def test_full_and_restricted_attention_are_timed_at_every_length():
    sizes = ["--lengths=16,8", "--neighbourhood=3", "--heads=2", "--d_model=8", "--rounds=1"]
    title, lengths, full, restricted = benchmark("attention", *sizes)
    assert "d_model = 8, h = 2" in title
    assert lengths.split() == ["n", "=", "8", "n", "=", "16"]
    assert full.startswith("full ") and restricted.startswith("r = 3 ")
    for line in (full, restricted):
        assert line.count(" ms") == 2


@pytest.mark.long
def test_a_training_step_is_timed():
    title, speed, work, share = benchmark(
        *("train", *SMALL_MODEL, "--rows=4", "--length=6", "--rounds=1")
    )
    assert title.startswith("4 pairs of 6 + 6 tokens, float32, tensorflow")
    assert "tokens per second" in speed and "GFLOP/s in matrix products" in work
    assert "% of a 2048³ product's" in share


@pytest.mark.long
def test_greedy_and_beam_search_are_timed_alone_and_in_batches():
    title, systems, warm_up, *lines = benchmark(
        *("decode", *SMALL_MODEL, "--rows=3", "--length=6", "--source_length=4", "--rounds=1")
    )
    assert title.startswith("Sentences per second: 4 source tokens, 6 steps, float32, tensorflow")
    assert systems.split() == ["t2t_keras"] and warm_up.startswith("warm-up, s ")
    cases = ["greedy +batch 1", "beam 4 +batch 1", "greedy +batch 3", "beam 4 +batch 3"]
    for line, case in zip(lines, cases, strict=True):
        assert re.fullmatch(rf"{case} +\d+\.\d\d", line), line


@pytest.mark.long
def test_searches_are_timed_in_turn_with_ctranslate2():
    one_case = ["--config.search.beam=1", "--rows=1", "--length=4", "--source_length=4"]
    _, versions, meaning, systems, _, speeds = benchmark(
        *("decode", *SMALL_MODEL, *one_case, "--rounds=1", "--beside=ctranslate2")
    )
    assert versions.startswith("CTranslate2 4") and "intra_threads=" in versions
    assert meaning == "In brackets: speed relative to CTranslate2 float32"
    assert re.split(" {2,}", systems.strip()) == SYSTEMS
    ratios = re.findall(r"[\d.]+ \(([\d.]+)\)", speeds)
    assert len(ratios) == len(SYSTEMS) and ratios[4] == "1.00"


@pytest.mark.long
def test_a_run_is_timed_on_text_and_finds_the_translations_of_ctranslate2(tmp_path):
    run = untrained_run(tmp_path / "run", tmp_path / "words", toy_tokenizer(tmp_path / "words"))
    experiment = run.experiment()
    experiment.search.beam = 1  # one search to compile
    write_settings(run.config_file, experiment)
    (tmp_path / "text").write_text("The dog sleeps.\n\nThe dogs sleep.\nThe third line.\n")
    lines = benchmark(
        *("decode", f"--run={run.folder}", f"--input={tmp_path}/text", "--lines=3"),
        *("--rows=2", "--rounds=1", "--beside=ctranslate2"),
    )
    assert f"2 lines of {tmp_path}/text, in batches of 2, beam 1, alpha 0.6" in lines[0]
    assert "length_penalty=0." in lines[1] and "patience=2" in lines[1]
    systems = [system for system in SYSTEMS if system != "compiled by XLA"]
    assert re.split(" {2,}", lines[3].strip()) == systems
    rows = {name.strip(): re.split(" {2,}", rest.strip()) for name, rest in map(halves, lines[4:])}
    assert list(rows) == [
        *("warm-up, s", "first line of a command, s", "its memory, MB"),
        *("greedy   one line, 50 %, ms", "greedy   one line, 99 %, ms"),
        *("greedy   batches, lines/s", "greedy   different, alone"),
        "greedy   different, in batches",
    ]
    for name, cells in rows.items():
        assert len(cells) == len(systems), name
    for name in ("greedy   different, alone", "greedy   different, in batches"):
        assert rows[name][:3] == ["0"] * 3


def halves(line):
    """Splits a line of a table into its name and its cells."""
    return line[: table.NAME], line[table.NAME :]


@pytest.mark.long
def test_runs_are_compared_on_documents(tmp_path):
    words = tmp_path / "words"
    runs = [
        untrained_run(tmp_path / name, words, toy_tokenizer(words), end=4.0, **settings)
        for name, settings in {
            "full": {},
            "restricted": {"neighbourhood": 4, "decoder_neighbourhood": 4},
        }.items()
    ]
    title, head, *rows = benchmark(
        *("documents", f"--runs={','.join(str(run.folder) for run in runs)}", "--documents=2"),
        *("--words=20,40", f"--picture={tmp_path}/picture.png"),
    )
    assert title.startswith("Greedy translations of 2 documents of each length")
    assert re.split(" {2,}", head.strip()) == [
        *("tokens", "BLEU", "right pronouns, %"),
        *("translation, s", "training step, s", "memory, MB"),
    ]
    rows = [row.split() for row in rows]
    assert [row[0] for row in rows] == ["full", "restricted"] * 2
    tokens, bleu, pronouns, translation, training, memory = np.array(
        [row[1:] for row in rows], dtype=float
    ).T
    assert tokens[0] == tokens[1] < tokens[2] == tokens[3]
    assert (bleu >= 0).all() and (pronouns == 0).all()
    assert (translation > 0).all() and (training > 0).all() and (memory > 0).all()
    assert matplotlib.image.imread(tmp_path / "picture.png").shape[0] == 380


def test_translations_of_documents_have_room_for_the_reference(monkeypatch, tmp_path):
    words = tmp_path / "words"
    run = untrained_run(tmp_path / "run", words, toy_tokenizer(words), end=-9.0, extra_length=0)
    _, (line,) = document_runs.translated(run, np.array([[50, 60, 2]]), longest=40)
    assert len(run.tokenizer().target.encode([line])[0]) > 20


def test_pronouns_are_compared_at_their_places():
    source = "I have a lamp. It is old. We have the book. I find it. It is red."
    reference = (
        "Ich zeichne eine Lampe. Sie ist alt. Wir brauchen das Buch. Ich finde es. Es ist rot."
    )
    assert pronouns(source, reference, reference) == (3, 3)
    wrong = reference.replace("Sie ist", "Er ist").replace("finde es", "finde ihn")
    assert pronouns(source, reference, wrong) == (1, 3)
    assert pronouns(source, reference, "Ich habe eine Lampe. Sie ist alt.") == (1, 3)
    assert pronouns("I sleep.", "Ich schlafe.", "") == (0, 0)
    left_out = "Ich zeichne eine Lampe. Wir brauchen das Buch. Ich finde es. Es ist rot."
    added = "Der Hund schläft. " + reference.replace(" Ich", " Der Hund schläft. Ich")
    assert pronouns(source, reference, left_out) == (2, 3)
    assert pronouns(source, reference, added) == (3, 3)


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
    title, speed, first, late = benchmark(
        "data", f"--data={toy_data[1]}", "--rounds=1", "--steps=3"
    )
    assert "pairs, medians of 1 rounds" in title
    assert "real tokens per second" in speed and "step 0" in first and "step 100,000" in late


@pytest.mark.long
def test_answers_of_a_server_are_timed_and_compared_with_lone_answers(backwards_export):
    with served(backwards_export.parent) as (_, address):
        url = f"--url={address}/v1/models/backwards"
        title, speed, alone, together, compared = benchmark(
            "serve", url, "--requests=20", "--connections=4"
        )
    assert title == "20 requests with one text each, 4 connections"
    assert "requests per second" in speed
    assert alone.startswith("alone") and together.startswith("together")
    assert compared.strip() == "20 answered; 0 differ from the single-request answer"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "takes one subject: attention"),
        (["atention"], "did you mean 'attention'"),
        (["documents"], "documents needs --runs, such as --runs=runs/full,runs/restricted"),
        (["documents", "--runs=a/run,b/run"], "--runs must have different names"),
        (["documents", "--runs=nowhere"], "nowhere could not be measured: ValueError"),
        (["attention", "--lengths=8,x"], "`lengths` must be"),
        (["decode", "--length=5"], "--length must be at least --source_length"),
        (["decode", "--beside=marian"], "value should be one of <ctranslate2>"),
        (["decode", "--input=test.en"], "--input has no effect without --run"),
        (["decode", "--run=mine"], "--run needs --input"),
        (["decode", "--run=mine", "--input=x"], "mine is not a run"),
        (["decode", "--run=mine", "--input=x", "--length=9"], "--length has no effect with --run"),
        (
            ["decode", "--run=mine", "--input=x", *SMALL_MODEL],
            "num_layers has no effect with --run",
        ),
        (["train", "--beside=ctranslate2"], "--beside has no effect on train"),
        (["data"], "--data must be a folder"),
        (["data", "--data=nowhere"], "nowhere"),
        (["serve"], "--url must be the address"),
        (["serve", "--url=http://127.0.0.1:9/v1/models/m"], "--url does not answer"),
        (["attention", "--rows=9"], "--rows has no effect on attention: leave it out"),
        (["attention", "--config=big"], "--config has no effect on attention"),
        (["attention", *SMALL_MODEL], "--config.model.num_layers has no effect on attention"),
        (["data", "--length=9"], "--length has no effect on data"),
        (["decode", "--steps=9"], "--steps has no effect on decode"),
        (["serve", "--rounds=9"], "--rounds has no effect on serve"),
        (["train", "--source_length=9"], "--source_length has no effect on train"),
        (["attention", "--rounds=0"], "--rounds=0: 0 is not a positive integer"),
        (["headline"], "needs text to train and to evaluate on: --source, --target, --dev_source"),
        (["headline", *texts("nowhere")], "--source: no such file. Received: nowhere"),
        (["headline", *texts(__file__)], "needs a small --config, such as --config=multi30k:fast"),
        (["headline", *TEXTS, "--bleu=0"], "--bleu must be between 0 and 100. Received: --bleu=0"),
        (
            ["headline", *TEXTS, "--config.data.dev_pairs=9"],
            "sets data.dev_pairs itself: --config.data.dev_pairs has no effect",
        ),
        (["headline", *TEXTS, f"--output={__file__}"], "--output must be a new folder"),
        (["train", "--bleu=3"], "--bleu has no effect on train"),
    ],
)
def test_a_mistake_is_named(arguments, message):
    result = command("benchmark", *arguments)
    assert result.returncode == 2
    assert message in result.stderr.strip().splitlines()[-1]


def test_the_places_of_terms_are_counted():
    case = TermSentence(
        "The dog sees a cat.",
        "Der Vogel sieht eine Maus.",
        [
            Occurrence("Vogel", "Hund", 1),
            Occurrence("Maus", "Katze", 4),
        ],
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
    title, head, *rows = benchmark("glossary", f"--run={run}", "--sentences=2", "--rounds=1")
    assert "2 sentences" in title and head.split()[-1] == "sentence"
    assert len(rows) == 3 * 2 * 3
    assert all(" 100.0 % " in row for row in rows if "no terms" not in row), "none is lost"
    result = command("benchmark", "glossary")
    assert result.returncode == 2 and "glossary needs --run" in result.stderr


@pytest.mark.long
def test_the_headline_is_a_row_with_the_time_from_text_to_a_bleu(tmp_path):
    for name, split in (("train", "train"), ("dev", "test")):
        sources, targets = zip(*pairs(300 if split == "train" else 20, split=split), strict=True)
        write_lines(tmp_path / f"{name}.en", sources)
        write_lines(tmp_path / f"{name}.de", targets)
    arguments = [
        *(f"--source={tmp_path}/train.en", f"--target={tmp_path}/train.de"),
        *(f"--dev_source={tmp_path}/dev.en", f"--dev_target={tmp_path}/dev.de"),
        *(f"--config={write_lines(tmp_path / 'own.py', OWN_CONFIG)}", *SMALL_MODEL[:3]),
        *("--config.data.vocabulary.size=400", "--config.training.steps=4"),
        "--config.training.evaluate_every=2",
        *("--config.search.extra_length=0", f"--output={tmp_path}/headline"),
    ]
    result = command("benchmark", "headline", *arguments, "--bleu=1e-9", at_stage={})
    assert result.returncode == 0, result.stderr
    head, _, row, _, note = result.stdout.splitlines()
    columns, values = ([c.strip() for c in line.split("|")[1:-1]] for line in (head, row))
    cells = dict(zip(columns, values, strict=True))
    assert cells["step"] in ("2", "4") and float(cells["minutes"]) > 0
    assert cells["config"].partition(", ")[2].startswith("model.num_layers=1, ")
    trained = json.loads((tmp_path / "headline" / "run" / "config.json").read_text())
    assert trained["experiment"]["data"]["dev_pairs"] == 0, "the whole text, not the config's lines"
    assert re.fullmatch(r"[0-9a-f]{10}(-dirty)?", cells["commit"]), "as in this checkout"
    assert f"greedy search on {tmp_path}/dev.en: nrefs:1|case:mixed" in note
    assert "headline: prepared after " in result.stderr
    again = command("benchmark", "headline", *arguments, at_stage={})
    assert again.returncode == 2 and "--output must be a new folder" in again.stderr
