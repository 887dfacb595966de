"""t2t-translate --apache_beam: the same lines as without it, and mistakes."""

import gzip
import logging
import sys

import pytest
from support.processes.commands import UGLY
from support.processes.in_process import call, ended

pytest.importorskip("apache_beam")

from t2t_keras.translating.engines.litert import LiteRTEngine

# Beam's local runner warns about missing packages.
pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]
LOCAL = "--beam_options=--runner=FnApiRunner"  # the default looks for a newer one first


@pytest.fixture
def export(exported):
    return exported("litert")


@pytest.fixture
def texts(tmp_path):
    """A folder with a text and a compressed one."""
    folder = tmp_path / "texts"
    folder.mkdir()
    ugly = "\n".join(line for line in UGLY if len(line) < 100).encode()
    end = b"\nOne dog. Two cats!\n\xff\xfe\xc3(\r\nno line feed"
    (folder / "one.txt").write_bytes(b"\xef\xbb\xbf" + ugly + end)
    (folder / "two.gz").write_bytes(gzip.compress(b"The dog sleeps.\n\n" * 3))
    return folder


@pytest.mark.parametrize(
    "flags",
    [
        ["--glossary={0}/terms", "--n_best=2", "--scores", "--split=off", "--alignments"],
        ["--json", "--confidence", "--beam=2", "--alpha=1", "--prefix=das"],
    ],
)
def test_lines_are_those_of_the_command_without_beam(export, texts, tmp_path, flags, monkeypatch):
    (tmp_path / "terms").write_text("dog\tHund\n")
    flags = [*(flag.format(tmp_path) for flag in flags), "--lines=4"]
    beam = ["--apache_beam", LOCAL, f"--input={texts}/*", f"--output={tmp_path}/out"]
    result = call("translate", export, *beam, *flags)
    assert "complete: 0 of 2 files" in result.stderr and result.stdout == ""
    for name, opened in (("one.txt", open), ("two.gz", gzip.open)):
        expected = call("translate", export, *flags, stdin=opened(texts / name, "rb").read()).stdout
        assert opened(tmp_path / "out" / name, "rb").read().decode() == expected
    assert "complete: 2 of 2 files" in call("translate", export, *beam, *flags).stderr
    assert logging.getLogger().isEnabledFor(logging.ERROR), "messages are dropped for a while only"
    monkeypatch.setattr(LiteRTEngine, "digest", lambda self: {"litert": "other"})
    assert "from a different command" in call("translate", export, *beam, *flags).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input={1}/*", "--output={2}/out"], "takes one folder with an export"),
        (["{0}", "{0}", "--input={1}/*", "--output={2}/out"], "takes one folder with an export"),
        (["{0}", "--output={2}/out"], "needs --input='FILES' and --output=FOLDER"),
        (["{0}", "--input={1}/*"], "needs --input='FILES' and --output=FOLDER"),
        (["{0}", "--input={1}/one.txt", "--output={1}"], "--output and --input are the same file"),
        (["{0}", "--input={1}/*", "--output={1}/one.txt"], "must be a folder with --apache_beam"),
        (["{0}", "--input={1}/one.txt,{2}/one.txt", "--output={2}/out"], "have the same name"),
        (["{0}", "--markup=xml", "--input={1}/*"], "--markup has no effect with --apache_beam"),
        (["{0}", "--beam=99", "--input={1}/*", "--output={2}/out"], "`beam` must be at most 4"),
        (
            ["{0}", "--glossary={2}/one.txt", "--input={1}/one.txt", "--output={2}"],
            "--output and --glossary are the same file",
        ),
    ],
)
def test_mistakes_are_refused_before_the_work(export, texts, tmp_path, arguments, message):
    (tmp_path / "one.txt").write_text("a\tb\n")
    before = {path: path.read_bytes() for path in texts.iterdir()}
    given = [each.format(export, texts, tmp_path) for each in arguments]
    with pytest.raises(ValueError, match=message):
        call("translate", "--apache_beam", LOCAL, *given)
    assert not [path for path in tmp_path.glob("out/*") if path.name != ".t2t-translate"]
    assert {path: path.read_bytes() for path in texts.iterdir()} == before


def test_a_mistake_is_one_message_of_the_command(export, texts, tmp_path):
    (texts / "two.gz").write_bytes((texts / "two.gz").read_bytes()[:-9])
    flags = [f"--input={texts}/*", f"--output={tmp_path}/out", "--apache_beam"]
    result = ended("translate", export, *flags)
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert "two.gz is compressed, but incomplete" in result.stderr.splitlines()[-1]


def test_without_apache_beam_its_options_and_its_package_are_named(texts, export, monkeypatch):
    with pytest.raises(ValueError, match="--beam_options has no effect without --apache_beam"):
        call("translate", export, LOCAL)
    monkeypatch.setitem(sys.modules, "apache_beam", None)
    files = [f"--input={texts}/*", f"--output={texts.parent}/out"]
    result = ended("translate", export, "--apache_beam", *files)
    assert result.returncode == 2 and "pip install 't2t-keras[beam]'" in result.stderr
