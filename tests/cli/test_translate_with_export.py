"""t2t-translate with a SavedModel: the lines are those of its run with the same flags."""

import json

import pytest
import tensorflow as tf
from support.processes.in_process import call, kept_engine, kept_export, parsed_flags
from support.runs.untrained import untrained_run

from pipelines.atomic_files import read_json, write_json
from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import save_tokenizer
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from pipelines.tokenizers.word_pieces import WordPieceTokenizer
from pipelines.toy.grammar import pairs
from t2t_keras.runs import Run
from t2t_keras.translating import find
from t2t_keras.translating.engines import saved_model

pytestmark = pytest.mark.long

LINES = "The dog sleeps. Yes, the dog.\n\nThe cat sleeps.\nThe men sleep.\n"
FILES = {
    "glossary": "dog\tguter Hund\nthe dog\tder Hund\ncat\tKatze\n",
    "require": "\n\n\nFrau\tdie Schule\n",
    "prefixes": "mein\n\n\ndas\n",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The folder of a run for two languages."""
    folder = tmp_path_factory.mktemp("translate_with_export")
    texts = [text for pair in pairs(200) for text in pair]
    tokenizer = learn(texts, VocabularyConfig(size=400, tags=("<2de>", "<2fr>")))
    save_tokenizer(tokenizer, folder / "vocabulary")
    settings = {"end": 4.0, "extra_length": 3}
    run = untrained_run(folder / "run", folder / "vocabulary", tokenizer, **settings)
    write_json(run.config_file, read_json(run.config_file) | {"tags": ["<2de>", "<2fr>"]})
    return run.folder


@pytest.fixture(scope="module")
def export(run):
    return Run(run, to="de").export(beam=2)


@pytest.fixture(autouse=True)
def load_once(monkeypatch):
    monkeypatch.setattr(find, "load_engine", kept_export)


@pytest.fixture
def files(tmp_path):
    """The flags for a glossary, required phrases and prefixes."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return {name: f"--{name}={tmp_path / name}" for name in FILES}


def objects(model, *flags, stdin=LINES):
    lines = call("translate", model, "--json", *flags, stdin=stdin).stdout.splitlines()
    return [json.loads(line)["translations"] for line in lines]


def assert_same(ours, theirs):
    """Compares translations; scores and confidence are rounded differently in a graph."""
    for one, other in zip(ours, theirs, strict=True):
        assert [each["text"] for each in one] == [each["text"] for each in other]
        for ours_, theirs_ in zip(one, other, strict=True):
            assert ours_.get("alignment") == theirs_.get("alignment")
            assert ours_["score"] == pytest.approx(theirs_["score"], rel=1e-4)
            assert ours_.get("confidence") == pytest.approx(theirs_.get("confidence"), abs=2e-4)


def test_phrases_prefixes_words_and_n_best_lists_are_those_of_the_run(run, export, files):
    flags = [*files.values(), "--n_best=2", "--confidence", "--alignments"]
    ours = objects(export, *flags)
    assert_same(ours, objects(run, "--beam=2", "--to=de", *flags))
    first, empty, second, third = (each[0] for each in ours)
    assert first["text"].startswith("mein") and first["text"].count("Hund") == 2
    assert empty["text"] == "" and "Katze" in second["text"].split()
    assert third["text"].startswith("das") and "die Schule" in third["text"]
    assert len(first["confidence"]) == len(first["text"].split())


def test_markup_is_that_of_the_run(run, export, files):
    text = "<p>The <b>dog</b> {name} sleeps.</p> <p>The cat &amp; %s</p>\n"
    flags = ["--markup=html", files["glossary"], "--n_best=2"]
    ours = objects(export, *flags, stdin=text)
    assert_same(ours, objects(run, "--beam=2", "--to=de", *flags, stdin=text))
    assert "<b>" in ours[0][0]["text"] and "Hund" in ours[0][0]["text"]


def test_another_beam_and_length_penalty_are_those_of_the_run(run, export):
    flags = ["--beam=1", "--alpha=0"]
    assert_same(objects(export, *flags), objects(run, "--to=de", *flags))


def test_another_tag_is_that_of_the_run(run, export):
    french = objects(export, "--to=fr")
    assert_same(french, objects(run, "--beam=2", "--to=fr"))
    german = objects(export)
    assert [each[0]["score"] for each in french] != [each[0]["score"] for each in german]
    assert objects(export, "--to=<2de>") == german


def test_a_model_that_is_loaded_as_on_a_gpu_gives_the_same_answers(export, files, monkeypatch):
    flags = [files["glossary"], "--confidence", "--alignments"]
    expected = objects(export, *flags)
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind=None: [kind])
    monkeypatch.setattr(saved_model, "SignatureGraphs", None)
    kept_engine.cache_clear()
    assert_same(objects(export, *flags), expected)
    kept_engine.cache_clear()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--beam=3"], "`beam` must be at most 2, the beam width of"),
        (["--n_best=0"], "`n_best` must be"),
        (["--n_best=3"], "`n_best` must be at most the beam width, beam=2"),
        (["--beam=1", "--glossary={0}/terms"], "with the exported beam width, 2"),
        (["--require={0}/terms", "--markup=xml"], "no required phrases of their own"),
        (["--extra_length=2"], "--extra_length does not work with an export"),
        (["--penalty=marian"], "--penalty does not work with an export"),
        (["--sample"], "--sample does not work with an export"),
        (["--sample", "--seed=2"], "--sample does not work with an export"),
        (["--seed=2"], "--seed: for sampling only"),
        (["--weights=best"], "--weights has no effect with an export"),
        (["--to=es"], r"the training data has no tag 'es'\. It has de, fr"),
    ],
)
def test_mistakes_are_refused_before_the_work(export, tmp_path, flags, message):
    (tmp_path / "terms").write_text("dog\tHund\n")
    output = tmp_path / "out"
    given = [each.format(tmp_path) for each in flags]
    with pytest.raises(ValueError, match=message):
        call("translate", export, f"--output={output}", *given, stdin="The dog.\n")
    assert not output.exists()


def test_a_phrase_that_the_vocabulary_cannot_write_is_named(export, files, tmp_path, monkeypatch):
    small = WordPieceTokenizer([*SPECIAL_PIECES, "▁The"])
    save_tokenizer(small, tmp_path / "vocabulary")
    monkeypatch.setattr(kept_engine(export), "tokenizer", small)
    monkeypatch.setattr(kept_engine(export), "tags", [None])
    monkeypatch.setattr(kept_engine(export), "tag", None)
    with pytest.raises(ValueError, match="no translation can contain the phrase 'Katze'"):
        call("translate", export, files["glossary"], stdin="The cat.\n")


def test_what_the_output_depends_on_is_part_of_its_identity(export):
    found = []
    flags = ["--beam=1", "--alpha=1", "--markup=html", "--markup=xml", "--to=fr", "--split=off"]
    for given in ([], *([flag] for flag in flags)):
        with parsed_flags("translate", *given) as command:
            found.append(json.dumps(command.load_model([export]).identity))
    assert len(set(found)) == len(found)
