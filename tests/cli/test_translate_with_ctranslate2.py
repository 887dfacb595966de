"""t2t-translate with a CTranslate2 folder: the lines are those of its run with the same flags."""

import json
import shutil

import pytest
from support.processes.in_process import call

from pipelines.atomic_files import read_json, write_json

pytest.importorskip("ctranslate2")
pytestmark = pytest.mark.long

QUICK = ["--beam=2", "--extra_length=3"]
LINES = "The dog sleeps. Yes, the dog.\n\nThe cat sleeps.\n"


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    return run.export(tmp_path_factory.mktemp("exported") / "ctranslate2", "ctranslate2")


def objects(model, *flags, stdin=LINES):
    lines = call("translate", model, "--json", *QUICK, *flags, stdin=stdin).stdout.splitlines()
    return [json.loads(line)["translations"] for line in lines]


def assert_same(ours, theirs):
    """Compares translations; CTranslate2's arithmetic differs a little."""
    for one, other in zip(ours, theirs, strict=True):
        assert [each["text"] for each in one] == [each["text"] for each in other]
        for found, expected in zip(one, other, strict=True):
            assert found.get("alignment") == expected.get("alignment")
            assert found["score"] == pytest.approx(expected["score"], rel=1e-2)
            assert found.get("confidence") == pytest.approx(expected.get("confidence"), abs=1e-2)


def test_prefixes_words_and_n_best_lists_are_those_of_the_run(run, folder, tmp_path):
    (tmp_path / "prefixes").write_text("mein\n\ndas\n")
    flags = ["--n_best=2", "--confidence", "--alignments"]
    ours = objects(folder, *flags, f"--prefixes={tmp_path / 'prefixes'}")
    assert_same(ours, objects(run.folder, *flags, f"--prefixes={tmp_path / 'prefixes'}"))
    first, empty, second = (each[0] for each in ours)
    assert first["text"].startswith("mein") and second["text"].startswith("das")
    assert empty["text"] == "" and empty["confidence"] == empty["alignment"] == []
    assert len(first["confidence"]) == len(first["text"].split())
    ours = objects(folder, "--prefix=das mein", *flags)
    assert_same(ours, objects(run.folder, "--prefix=das mein", *flags))
    assert all(each[0]["text"].startswith("das mein") for each in ours[::2])


def test_markup_is_that_of_the_run(run, folder):
    text = "<p>The <b>dog</b> {name} sleeps.</p> <p>The cat &amp; %s</p>\n"
    flags = ["--markup=html", "--n_best=2"]
    ours = objects(folder, *flags, stdin=text)
    assert_same(ours, objects(run.folder, *flags, stdin=text))
    assert all(mark in ours[0][0]["text"] for mark in ("<b>", "</b>", "{name}", "%s"))


REFUSED = [
    (["--glossary={0}/terms"], "--glossary and --require do not work with CTranslate2"),
    (["--require={0}/terms"], "--glossary and --require do not work with CTranslate2"),
    (["--no_repeat_ngram=3"], "--no_repeat_ngram does not work with CTranslate2"),
    (["--sample"], "--sample does not work with CTranslate2"),
    (["--banned= mein"], "--banned does not work with CTranslate2"),
    (["--first= mein"], "--first does not work with CTranslate2"),
    (["--constrain=tree"], "--constrain does not work with CTranslate2"),
    (["--weights=best"], "--weights has no effect with an export"),
    (["--to=de"], "the training data has no tag 'de'. It has none: leave --to out"),
    (["--n_best=9"], "`n_best` must be at most the beam width"),
]


@pytest.mark.parametrize(("flags", "message"), REFUSED)
def test_mistakes_are_refused_before_the_work(folder, tmp_path, flags, message):
    (tmp_path / "terms").write_text("dog\tHund\n")
    (tmp_path / "out").write_text("kept\n")
    given = [each.format(tmp_path) for each in flags]
    with pytest.raises(ValueError) as raised:
        call("translate", folder, f"--output={tmp_path / 'out'}", *given, stdin="The dog.\n")
    assert message in str(raised.value)
    assert {path.name for path in tmp_path.iterdir()} == {"terms", "out"}
    assert (tmp_path / "out").read_text() == "kept\n"


def test_a_folder_of_an_earlier_version_aligns_no_words(folder, tmp_path):
    earlier = shutil.copytree(folder, tmp_path / "earlier")
    record = read_json(earlier / "export.json")
    del record["alignment"]
    write_json(earlier / "export.json", record)
    for flag in ("--alignments", "--markup=html"):
        with pytest.raises(ValueError, match="Export the run again with t2t-export --format=ctr"):
            objects(earlier, flag)
    assert objects(earlier, "--confidence", "--prefix=das") == objects(
        folder, "--confidence", "--prefix=das"
    )
