"""t2t-translate --document: documents in, documents out; `pipelines/documents` knows the kinds."""

import json
import re
import shutil

import pytest
from support.processes.in_process import call, refused
from support.text.sample_documents import sample

from pipelines.atomic_files import read_json, write_json
from t2t_keras.runs import Run
from t2t_keras.translating import texts
from t2t_keras.translating.translator import Translator

QUICK = ["--beam=2", "--extra_length=3"]


@pytest.fixture
def documents(tmp_path):
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    for name in ("ui.xlf", "film.srt", "deep/page.markdown", "table.csv"):
        (folder / name).write_bytes(sample(f".{name.partition('.')[2]}"))
    (folder / "picture.png").write_bytes(b"PNG")
    return folder


def translate(run, *flags):
    return call("translate", *QUICK, run.folder, *flags).stdout


def contents(folder):
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_folder_becomes_a_folder_with_a_report_and_a_file_a_file(run, documents, tmp_path):
    out = tmp_path / "out"
    flags = [f"--document={documents}", f"--output={out}", "--json", "--column=text"]
    reports = list(map(json.loads, translate(run, *flags).splitlines()))
    found = contents(out)
    assert [*found] == ["deep/page.markdown", "film.srt", "table.csv", "ui.xlf"]
    assert [report["document"].rpartition("/")[2] for report in reports] == [
        *("page.markdown", "film.srt", "table.csv", "ui.xlf")
    ]
    assert reports[-1]["segments"] == 4 and reports[-1]["skipped"]["translated already"] == 1
    assert found["ui.xlf"].count(b"<target") == 5 and b"00:00:03,500" in found["film.srt"]
    one = tmp_path / "ui.de.xlf"
    translate(run, f"--document={documents}/ui.xlf", f"--output={one}", "--lines=2")
    assert one.read_bytes() == found["ui.xlf"], "however many segments are read at a time"
    python = tmp_path / "python.xlf"
    report = run.translator().translate_document(
        documents / "ui.xlf", python, beam=2, extra_length=3
    )
    assert python.read_bytes() == found["ui.xlf"] and report["words"] == reports[-1]["words"]


def test_an_interrupted_document_resumes_to_the_same_bytes(run, documents, tmp_path, monkeypatch):
    flags = [f"--document={documents}/ui.xlf", f"--output={tmp_path}/out.xlf", "--lines=1"]
    translate(run, *flags)
    expected = (tmp_path / "out.xlf").read_bytes()
    (tmp_path / "out.xlf").unlink()
    translations, calls = Translator.translate, []

    def interrupted(self, texts, *arguments, **options):
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return translations(self, texts, *arguments, **options)

    monkeypatch.setattr(Translator, "translate", interrupted)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        translate(run, *flags)
    assert not (tmp_path / "out.xlf").exists()
    translate(run, *flags)
    assert (tmp_path / "out.xlf").read_bytes() == expected and len(calls) == 5, "two were kept"


def test_segments_stay_whole_if_the_run_was_trained_on_documents(run, tmp_path, monkeypatch):
    monkeypatch.setattr(texts, "split_sentences", None)
    copy, source = Run(tmp_path / "run"), tmp_path / "a.txt"
    shutil.copytree(run.folder, copy.folder)
    source.write_text("It is old. It sleeps.")
    with pytest.raises(TypeError):  # sentence by sentence
        copy.translator().translate_document(source, tmp_path / "b.txt", beam=2)
    facts = {"preparation": {"toy documents": {"count": 9}}}
    write_json(copy.config_file, read_json(copy.config_file) | facts)
    translator = Run(copy.folder).translator()
    assert translator.translate_document(source, tmp_path / "b.txt", beam=2)["segments"] == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--document={}/ui.xlf"], "--document needs --output"),
        (["--document={}/ui.xlf", "--output={}/ui.txt"], r"ui.xlf is a .xlf file"),
        (["--document={}/ui.xlf", "--output={}/ui.xlf"], "are the same file"),
        (["--document={}/deep,{}/ui.xlf", "--output={}/film.srt"], "must be a folder"),
        (["--document={}/none.xlf", "--output={}/a.xlf"], r"none.xlf: No such file"),
        (["--document={}/table.csv", "--output={}/a.csv"], "--column"),
        (["--input={}/ui.xlf"], r"ui.xlf is a document.*--document=.*ui.xlf --output=FILE.xlf"),
        (["--column=a"], "--document"),
        (["--document={}/ui.xlf", "--output={}/a.xlf", "--n_best=2"], "--n_best"),
    ],
)
def test_a_mistake_is_named_and_nothing_is_written(run, documents, flags, message):
    before, line = contents(documents), f"{run.folder} {' '.join(flags)}"
    assert re.search(message, refused("translate", line.replace("{}", str(documents))))
    assert contents(documents) == before


def test_a_wrong_document_is_found_before_any_is_translated(run, documents, tmp_path):
    (documents / "z.json").write_text("{")
    flags = f"--document={documents} --output={tmp_path}/out --column=text"
    message = refused("translate", f"{run.folder} {flags}")
    assert "z.json cannot be translated: it is not a valid .json" in message
    assert not (tmp_path / "out").exists()
