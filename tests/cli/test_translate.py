"""t2t-translate: the lines that it reads and writes. Searches are tested in tests/runs."""

import bz2
import gzip
import json
import lzma
import os
import shutil
import signal
import threading
import time

import pytest
from support.processes.commands import UGLY, command, running
from support.processes.in_process import call, ended
from support.runs.untrained import toy_tokenizer, untrained_run

from pipelines.atomic_files import read_json, write_json
from pipelines.progress import Progress
from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import WordPieceTokenizer, save_tokenizer
from pipelines.toy.grammar import pairs
from t2t_keras.translating.translator import Translator

TEXT = "The dog sleeps.\n\nThe cat sleeps.\n"
PHRASE_FILES = {"glossary": "terms.tsv", "require": "phrases"}
QUICK = ["--beam=2", "--extra_length=3"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("translate")
    tokenizer = toy_tokenizer(folder / "vocabulary")
    return untrained_run(folder / "run", folder / "vocabulary", tokenizer, end=4.0).folder


def translate(run, *arguments, stdin=TEXT):
    return call("translate", *QUICK, *arguments, run, stdin=stdin).stdout


@pytest.mark.long
def test_every_line_is_answered_whatever_it_contains(run, tmp_path):
    data = "\n".join(UGLY).encode() + b"\n\xff\xfe\xc3(\r\nlast without a line feed"
    (tmp_path / "in").write_bytes(data)
    files = [f"--input={tmp_path / 'in'}", f"--output={tmp_path / 'out'}"]
    result = command("translate", run, *QUICK, *files)
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    output = (tmp_path / "out").read_text()
    lines = output.split("\n")
    assert len(lines) == len(UGLY) + 2 + 1 and lines[-1] == ""
    assert [bool(line) for line in lines[:3]] == [True, False, False]
    assert translate(run, stdin=data) == output
    assert translate(run, "--lines=2", stdin=data) == output, "however many are read at a time"


@pytest.mark.long
def test_a_line_of_several_sentences_is_translated_sentence_by_sentence(run):
    text = "The dog sleeps.  Two cats saw a house!\nThe dog sleeps.\nTwo cats saw a house!\n"
    flags = ["--json", "--alignments", "--n_best=2"]
    both, first, second = map(json.loads, translate(run, *flags, stdin=text).splitlines())
    assert both["source"] == "The dog sleeps.  Two cats saw a house!"
    parts = zip(*(each["translations"] for each in (both, first, second)), strict=False)
    for joined, one, other in parts:
        assert joined["text"] == f"{one['text']}  {other['text']}"
        assert joined["score"] == pytest.approx(one["score"] + other["score"], abs=1e-4)
        words = len(one["text"].split())
        moved = [[i + 3, j + words] for i, j in other["alignment"]]
        assert joined["alignment"] == one["alignment"] + moved
    assert translate(run, stdin=text) == translate(run, "--split=auto", stdin=text)
    lines = [
        translate(run, f"--split={split}", stdin=text).split("\n") for split in ("auto", "off")
    ]
    assert lines[0][0] != lines[1][0] and lines[0][1:] == lines[1][1:]


@pytest.mark.long
def test_a_run_of_parse_trees_and_its_lines_are_not_split(run, tmp_path):
    trees = shutil.copytree(run, tmp_path / "trees")
    settings = read_json(trees / "config.json")
    settings["preparation"] = {"leaves": ["XX", True]}
    write_json(trees / "config.json", settings)
    text = "The dog sleeps. Two cats saw a house!\n"
    assert translate(trees, stdin=text) == translate(run, "--split=off", stdin=text)
    assert translate(trees, "--split=auto", stdin=text) == translate(run, stdin=text)


def test_a_byte_order_mark_is_no_text(run):
    text = TEXT.encode()
    assert translate(run, stdin=b"\xef\xbb\xbf" + text) == translate(run, stdin=text)


def test_compressed_files_are_read_and_written_as_if_they_were_not(run, tmp_path):
    (tmp_path / "in").write_bytes(bz2.compress(TEXT.encode()))
    expected = translate(run)
    assert translate(run, f"--input={tmp_path}/in") == expected
    zipped = gzip.compress(TEXT.encode())
    for name, opened in (("out.gz", gzip.open), ("out.bz2", bz2.open), ("out.xz", lzma.open)):
        assert translate(run, f"--output={tmp_path}/{name}", stdin=zipped) == ""
        with opened(tmp_path / name, "rt") as file:
            assert file.read() == expected


def test_text_that_is_not_utf_8_but_utf_16_is_refused(run, tmp_path):
    (tmp_path / "in").write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(ValueError, match=r"in is UTF-16, UTF-32 or not text.*iconv"):
        translate(run, f"--input={tmp_path}/in")
    with pytest.raises(ValueError, match="standard input is UTF-16"):
        translate(run, stdin=TEXT.encode("utf-16"))


@pytest.mark.long
def test_several_translations_of_each_line_come_best_first(run):
    lines = translate(run, "--n_best=2", "--scores").splitlines()
    assert len(lines) == 2 * 3
    scores = [float(line.split("\t")[0]) for line in (*lines[:2], *lines[4:])]
    assert scores[0] >= scores[1] and scores[2] >= scores[3]
    assert lines[2:4] == ["0.0000\t", ""], "an empty line has one translation"
    best = translate(run).splitlines()
    assert best == [line.partition("\t")[2] for line in lines[::2]]


def test_an_object_per_line_has_source_translations_and_alignment(run):
    objects = [json.loads(line) for line in translate(run, "--json", "--alignments").splitlines()]
    assert [each["source"] for each in objects] == TEXT.split("\n")[:3]
    best = translate(run).splitlines()
    assert [each["translations"][0]["text"] for each in objects] == best
    pairs = objects[0]["translations"][0]["alignment"]
    assert sorted(target for _, target in pairs) == list(range(len(best[0].split())))


@pytest.mark.long
def test_every_word_of_every_translation_has_a_confidence(run):
    text = "The dog sleeps.  Two cats saw a house!\n\nThe dog sleeps.\nTwo cats saw a house!\n"
    text += "dog " * 1100 + "\n"
    flags = ["--json", "--alignments", "--n_best=2"]
    lines = translate(run, *flags, "--confidence", stdin=text).splitlines()
    of_lines = [json.loads(line)["translations"] for line in lines]
    assert len(of_lines[2]) == 2 and of_lines[1][0]["confidence"] == []
    every = [each for translations in of_lines for each in translations]
    for each in every:
        words = list(range(len(each["text"].split())))
        assert sorted(target for _, target in each["alignment"]) == words
        assert len(each["confidence"]) == len(words)
        assert all(0 <= word <= 1 for word in each["confidence"])
    whole, first, second = (of_lines[line][0]["confidence"] for line in (0, 2, 3))
    assert first and whole == pytest.approx(first + second, abs=1e-3)
    for each in every:
        del each["confidence"]
    plain = translate(run, *flags, stdin=text).splitlines()
    assert of_lines == [json.loads(line)["translations"] for line in plain]


@pytest.mark.long
def test_translations_begin_with_the_prefix_or_the_prefix_of_their_line(run, tmp_path):
    lines = translate(run, "--prefix=das mein").splitlines()
    assert lines[1] == "" and all(line.startswith("das mein") for line in lines[::2])
    (tmp_path / "prefixes").write_text("die\n\nthe\n")
    prefixes = f"--prefixes={tmp_path / 'prefixes'}"
    for flags in ([], ["--lines=1"]):
        lines = translate(run, prefixes, *flags).splitlines()
        assert lines[0].startswith("die") and lines[2].startswith("the")
    with pytest.raises(ValueError, match=r"a line for each input line. Received: 3 .* for 4 "):
        translate(run, prefixes, "--lines=1", stdin=TEXT + "The cat sleeps.\n")


@pytest.mark.long
def test_more_prefixes_than_lines_are_an_error_also_after_a_stream(run, tmp_path):
    (tmp_path / "prefixes").write_text("die\n\nthe\nthe\n")
    os.mkfifo(tmp_path / "stream")
    writer = threading.Thread(target=(tmp_path / "stream").write_text, args=[TEXT])
    writer.start()
    flags = [*QUICK, "--lines=2", f"--prefixes={tmp_path / 'prefixes'}"]
    result = command("translate", run, *flags, f"--input={tmp_path / 'stream'}")
    writer.join()
    assert result.returncode == 2 and "Received: 4 lines for 3 input lines" in result.stderr
    assert result.stdout.startswith("die") and result.stdout.count("\n") == 3, "it is kept"
    result = command("translate", run, *flags, stdin=TEXT)
    assert result.returncode == 2 and "Received: 4 lines for 3 input lines" in result.stderr
    assert result.stdout == "", "refused before the work"


@pytest.mark.long
def test_an_error_about_a_line_has_its_number(run, tmp_path):
    (tmp_path / "phrases").write_text("\n\n\nmein\n")
    with pytest.raises(ValueError, match=r"^line 4: the translation of an empty text is empty, so"):
        translate(run, f"--require={tmp_path / 'phrases'}", "--lines=2", stdin=f"{TEXT}\n")


def test_progress_knows_the_lines_of_a_file_and_does_not_count_kept_ones_as_fast(
    run, tmp_path, monkeypatch
):
    counters, translations, line = [], Translator.translations, Progress.line
    (tmp_path / "in.gz").write_bytes(gzip.compress(TEXT.encode() * 3 + b"The dog sleeps."))
    files = [f"--input={tmp_path}/in.gz", f"--output={tmp_path}/out", "--lines=6"]

    def killed(translator, texts, advanced, first, **options):
        if first:
            raise KeyboardInterrupt
        return translations(translator, texts, advanced, first, **options)

    with monkeypatch.context() as patches, pytest.raises(KeyboardInterrupt):
        patches.setattr(Translator, "translations", killed)
        translate(run, *files)
    monkeypatch.setattr(
        Progress, "line", lambda self, seconds: counters.append(self) or line(self, seconds)
    )
    stderr = call("translate", *QUICK, *files, run).stderr
    assert stderr.startswith("translating: 10 of 10 lines (100%), ") and stderr.count("\n") == 1
    assert counters[-1].first == 6, "the rate is that of 4 lines"


def test_the_lines_of_a_compressed_standard_input_are_counted(run, tmp_path):
    (tmp_path / "prefixes").write_text("das\n\nmein\n")
    flag, text = f"--prefixes={tmp_path / 'prefixes'}", b"The dog\n\nThe cat\n"
    assert translate(run, flag, stdin=gzip.compress(text)) == translate(run, flag, stdin=text)


@pytest.mark.long
def test_translations_contain_the_phrases_of_a_glossary_and_of_their_line(run, tmp_path):
    (tmp_path / "terms.tsv").write_text("dog\tguter Hund\ncat\tKatze\n")
    (tmp_path / "phrases").write_text("Frau\tdie Schule\n\n\n")
    text = "The dog sleeps. The dog sleeps.\nThe cat sleeps.\nThe men sleep.\n"
    glossary, require = (f"--{name}={tmp_path / file}" for name, file in PHRASE_FILES.items())
    found = [translate(run, *flags, stdin=text).splitlines() for flags in ([glossary], [require])]
    assert found[0][0].count("guter Hund") == 2 and "Katze" in found[0][1]
    assert "Frau" in found[1][0].split() and "die Schule" in found[1][0]
    plain = translate(run, stdin=text).splitlines()
    assert found[0][2] == plain[2] and found[1][1:] == plain[1:]
    lines = translate(run, glossary, require, "--json", "--n_best=2", stdin=text).splitlines()
    both = json.loads(lines[0])
    assert all("guter Hund" in each["text"] for each in both["translations"])


@pytest.mark.long
def test_pieces_are_required_or_banned(run):
    flags = ["--first= das, die", "--banned= die"]
    lines = translate(run, *flags, stdin="The dog sleeps.\n" * 2).splitlines()
    assert all(line.startswith("das") for line in lines)


@pytest.mark.long
def test_samples_depend_on_the_seed_and_the_line_not_on_the_block(run):
    flags, text = ["--sample", "--seed=1", "--extra_length=3"], "The dog sleeps.\n" * 3
    lines = call("translate", *flags, run, stdin=text).stdout
    assert call("translate", *flags, "--lines=2", run, stdin=text).stdout == lines
    assert len(set(lines.splitlines())) > 1


@pytest.mark.long
def test_an_interrupted_output_is_resumed_to_the_same_bytes(run, tmp_path):
    (tmp_path / "in").write_text("".join(f"{english}\n" for english, _ in pairs(120)))
    flags = ["--sample", "--seed=3", "--extra_length=3", "--lines=10", f"--input={tmp_path / 'in'}"]
    output, journal = tmp_path / "out", tmp_path / "out.unfinished.json"
    with running("translate", *flags, f"--output={output}", run) as process:
        end = time.monotonic() + 60
        while not journal.exists() or journal.read_bytes().count(b"\n") < 3:
            assert time.monotonic() < end, process.errors()
            time.sleep(0.01)
        assert process.stop(signal.SIGINT) == 130
        assert "translate.py: interrupted. Run the same command to resume" in process.errors()
    assert not output.exists()
    resumed = call("translate", *flags, f"--output={output}", run)
    assert "Starting over" not in resumed.stderr and "Resuming there" not in resumed.stderr
    assert "translating: 120 of 120 lines (100%), " in resumed.stderr
    assert output.read_text() == call("translate", *flags, run).stdout
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{0}", "--input={1}/text", "--output={1}/./text"], "are the same file"),
        (["{0}", "--prefixes={1}/text", "--output={1}/text"], "--prefixes are the same file"),
        (["{0}", "--output={0}/config.json"], "a file of the run are the same file"),
        (["{0}", "--output={1}/none/out"], "No such file"),
        (["{0}", "--prefix=a", "--prefixes={1}/text"], "give only one"),
        (["{0}", "--prefixes={1}/none"], "/none: No such file or directory"),
        (["{0}", "--glossary={1}/none"], "/none: No such file or directory"),
        (["{0}", "--input={1}/none"], "No such file"),
        ([], "takes a run's folder, or several for an ensemble"),
        (["{1}"], "is not a run"),
        (["{0}", "--weights=oldest"], "has no weights 'oldest'. It has: averaged"),
        (["{0}", "--n_best=9"], "`n_best` must be at most"),
        (["{0}", "--confidence"], "--confidence is a field of the JSON objects: give --json, too"),
        (["{0}", "--banned=Derr"], "--banned=Derr: the vocabulary has no such"),
        (["{0}", "--top_p=0.9"], "--top_p: for sampling only"),
        (["{0}", "{1}/other"], "has a different vocabulary than"),
        (["{0}", "{1}/export"], "an export cannot join an ensemble"),
        (
            ["{1}/export"],
            "is not a SavedModel that t2t-export wrote. Write one with t2t-export RUN",
        ),
        (["{0}", "--split=on"], "value should be one of <auto|off>"),
        (["{0}", "--glossary={1}/text"], "text, line 1: must be a source phrase, a tab"),
    ],
)
def test_mistakes_end_with_one_message_and_exit_code_2(run, tmp_path, arguments, message):
    (tmp_path / "text").write_text("The dog sleeps.\n")
    (tmp_path / "export" / "1").mkdir(parents=True)
    (tmp_path / "export" / "1" / "saved_model.pb").touch()
    shutil.copytree(run, tmp_path / "other")
    save_tokenizer(WordPieceTokenizer([*SPECIAL_PIECES, "a"]), tmp_path / "other" / "vocabulary")
    result = ended("translate", *(each.format(run, tmp_path) for each in arguments), stdin="a\n")
    assert result.returncode == 2, result.stderr
    assert message in result.stderr.strip().splitlines()[-1]
    assert "Traceback" not in result.stderr and result.stdout == ""
    assert (tmp_path / "text").read_text() == "The dog sleeps.\n"
