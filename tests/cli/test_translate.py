"""t2t-translate: the lines that it reads and writes. Searches are tested in tests/runs."""

import bz2
import gzip
import json
import os
import shutil
import threading

import pytest
from support.processes.commands import UGLY, command
from support.processes.in_process import call, refused

from pipelines.atomic_files import read_json, write_json
from pipelines.progress import Progress
from pipelines.special_ids import SPECIAL_PIECES
from pipelines.tokenizers import WordPieceTokenizer, save_tokenizer
from t2t_keras.runs import Run
from t2t_keras.translating.translator import Translator

TEXT = "The dog sleeps.\n\nThe cat sleeps.\n"
TWO_SENTENCES = "The dog sleeps.  Two cats saw a house!\n"
QUICK = ["--beam=2", "--extra_length=3"]


def translate(run, *arguments, stdin=TEXT):
    return call("translate", *QUICK, *arguments, run.folder, stdin=stdin).stdout


@pytest.mark.long
def test_every_line_is_answered_whatever_it_contains(run, tmp_path):
    data = "\n".join(UGLY).encode() + b"\n\xff\xfe\xc3(\r\nlast without a line feed"
    (tmp_path / "in").write_bytes(data)
    files = [f"--input={tmp_path / 'in'}", f"--output={tmp_path / 'out'}"]
    assert translate(run, *files) == ""
    output = (tmp_path / "out").read_text()
    lines = output.split("\n")
    assert len(lines) == len(UGLY) + 2 + 1 and lines[-1] == ""
    assert [bool(line) for line in lines[:3]] == [True, False, False]
    assert translate(run, "--lines=2", stdin=data) == output, "however many are read at a time"


@pytest.mark.long
def test_a_line_is_translated_sentence_by_sentence_unless_it_is_one_or_a_tree(run, tmp_path):
    text = TWO_SENTENCES + TWO_SENTENCES.replace("  ", "\n")
    both, first, second = map(json.loads, translate(run, "--json", stdin=text).splitlines())
    joined, one, other = (each["translations"][0]["text"] for each in (both, first, second))
    assert both["source"] == TWO_SENTENCES.rstrip() and joined == f"{one}  {other}"
    divided, whole = (translate(run, f"--split={how}", stdin=text) for how in ("auto", "off"))
    assert translate(run, stdin=text) == divided
    divided, whole = divided.splitlines(), whole.splitlines()
    assert divided[0] != whole[0] and divided[1:] == whole[1:]
    trees = Run(shutil.copytree(run.folder, tmp_path / "trees"))
    settings = read_json(trees.config_file) | {"preparation": {"leaves": ["XX", True]}}
    write_json(trees.config_file, settings)
    assert translate(trees, stdin=TWO_SENTENCES) == f"{whole[0]}\n"
    assert translate(trees, "--split=auto", stdin=TWO_SENTENCES) == f"{divided[0]}\n"


@pytest.mark.long
def test_compressed_files_are_read_and_written_as_if_they_were_not(run, tmp_path):
    (tmp_path / "in").write_bytes(bz2.compress(TEXT.encode()))
    expected = translate(run, stdin=b"\xef\xbb\xbf" + TEXT.encode())
    assert expected == translate(run)
    assert translate(run, f"--input={tmp_path}/in") == expected
    assert translate(run, f"--output={tmp_path}/out.gz", stdin=gzip.compress(TEXT.encode())) == ""
    assert gzip.decompress((tmp_path / "out.gz").read_bytes()).decode() == expected


def test_text_that_is_not_utf_8_but_utf_16_is_refused(run, tmp_path):
    (tmp_path / "in").write_bytes(TEXT.encode("utf-16"))
    with pytest.raises(ValueError, match=r"in is UTF-16 or UTF-32.*iconv"):
        translate(run, f"--input={tmp_path}/in")
    with pytest.raises(ValueError, match="standard input is UTF-16"):
        translate(run, stdin=TEXT.encode("utf-16"))


@pytest.mark.long
def test_translations_begin_with_the_prefix_or_the_prefix_of_their_line(run, tmp_path):
    lines = translate(run, "--prefix=das mein").splitlines()
    assert lines[1] == "" and all(line.startswith("das mein") for line in lines[::2])
    (tmp_path / "prefixes").write_text("die\n\nthe\n")
    for flags in ([], ["--lines=1"]):
        lines = translate(run, f"--prefixes={tmp_path / 'prefixes'}", *flags).splitlines()
        assert lines[0].startswith("die") and lines[2].startswith("the")


@pytest.mark.long
def test_more_prefixes_than_lines_are_an_error_also_after_a_stream(run, tmp_path):
    (tmp_path / "prefixes").write_text("die\n\nthe\nthe\n")
    os.mkfifo(tmp_path / "stream")
    writer = threading.Thread(target=(tmp_path / "stream").write_text, args=[TEXT])
    writer.start()
    flags = [*QUICK, "--lines=2", f"--prefixes={tmp_path / 'prefixes'}"]
    result = command("translate", run.folder, *flags, f"--input={tmp_path / 'stream'}")
    writer.join()
    assert result.returncode == 2 and "Received: 4 lines for 3 input lines" in result.stderr
    assert result.stdout.startswith("die") and result.stdout.count("\n") == 3, "it is kept"


@pytest.mark.long
def test_an_error_about_a_line_has_its_number(run, tmp_path):
    (tmp_path / "phrases").write_text("\n\n\nmein\n")
    with pytest.raises(ValueError, match=r"^line 4: the translation of an empty text is empty, so"):
        translate(run, f"--require={tmp_path / 'phrases'}", "--lines=2", stdin=f"{TEXT}\n")


def test_an_interrupted_output_is_resumed_to_the_same_bytes_and_kept_lines_do_not_count_as_fast(
    run, tmp_path, monkeypatch
):
    counters, translations, line = [], Translator.translations, Progress.line
    (tmp_path / "in.gz").write_bytes(gzip.compress(TEXT.encode() * 3 + b"The dog sleeps."))
    files = [f"--input={tmp_path}/in.gz", "--lines=6"]
    output = f"--output={tmp_path}/out"

    def killed(translator, texts, advanced, first, **options):
        if first:
            raise KeyboardInterrupt
        return translations(translator, texts, advanced, first, **options)

    with monkeypatch.context() as patches, pytest.raises(KeyboardInterrupt):
        patches.setattr(Translator, "translations", killed)
        translate(run, *files, output)
    assert not (tmp_path / "out").exists()
    with monkeypatch.context() as patches:
        patches.setattr(
            Progress, "line", lambda self, seconds: counters.append(self) or line(self, seconds)
        )
        stderr = call("translate", *QUICK, *files, output, run.folder).stderr
    assert stderr.startswith("translating: 10 of 10 lines (100%), ") and stderr.count("\n") == 1
    assert counters[-1].first == 6, "the rate is that of 4 lines"
    assert (tmp_path / "out").read_text() == translate(run, *files)
    assert {path.name for path in tmp_path.iterdir()} == {"in.gz", "out"}


@pytest.mark.long
def test_translations_contain_the_phrases_of_a_glossary_and_of_their_line(run, tmp_path):
    (tmp_path / "terms.tsv").write_text("dog\tguter Hund\ncat\tKatze\n")
    (tmp_path / "phrases").write_text("Frau\tdie Schule\n\n\n")
    text = "The dog sleeps. The dog sleeps.\nThe cat sleeps.\nThe men sleep.\n"
    glossary, require = f"--glossary={tmp_path}/terms.tsv", f"--require={tmp_path}/phrases"
    with_terms, with_phrases, plain = (
        translate(run, *flags, stdin=text).splitlines() for flags in ([glossary], [require], [])
    )
    assert with_terms[0].count("guter Hund") == 2 and "Katze" in with_terms[1]
    assert "Frau" in with_phrases[0].split() and "die Schule" in with_phrases[0]
    assert with_terms[2] == plain[2] and with_phrases[1:] == plain[1:]


MISTAKES = {
    "{0} --input={1}/text --output={1}/./text": "--output and --input are the same file",
    "{0} --output={1}/none/out": "No such file",
    "{0} --prefix=a --prefixes={1}/text": "--prefix has no effect with --prefixes",
    "{0} --prefixes={1}/two": "2 lines for 1 input lines",
    "{0} --glossary={1}/none": "/none: No such file or directory",
    "": "takes a run's folder, or several for an ensemble",
    "{1}": "is not a run",
    "{1}/text": "takes the folder of a run or an export. Received the file",
    "{0} --weights=oldest": "has no weights 'oldest'. It has: averaged",
    "{0} --confidence": "--confidence has no effect without --json",
    "{0} --constrain=tree": "cannot write trees with --constrain=tree: it was not trained on trees",
    "{0} {1}/other": "has a different vocabulary than",
    "{0} {1}/export": "an export cannot join an ensemble",
    "{1}/export": "export/1 cannot be used: export.json",
    "{0} --glossary={1}/text": "text, line 1: must be a source phrase, a tab",
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.items())
def test_a_mistake_is_named(run, tmp_path, line, message):
    (tmp_path / "text").write_text("The dog sleeps.\n")
    (tmp_path / "two").write_text("a\nb\n")
    (tmp_path / "export" / "1").mkdir(parents=True)
    (tmp_path / "export" / "1" / "export.json").write_text("{}")
    shutil.copytree(run.folder, tmp_path / "other")
    save_tokenizer(WordPieceTokenizer([*SPECIAL_PIECES, "a"]), tmp_path / "other" / "vocabulary")
    assert message in refused("translate", line, run.folder, tmp_path, stdin="a\n")
    assert (tmp_path / "text").read_text() == "The dog sleeps.\n"
