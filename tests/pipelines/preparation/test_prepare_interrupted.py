"""A preparation that ends at any moment resumes to the same bytes."""

import shutil

import pytest
from support.text.small_corpus import CORPUS, config, contents

import pipelines.preparation.prepare as preparation
import pipelines.text.cleaned_text as cleaned_text
from pipelines.batches.id_store import IdStore, Shard
from pipelines.preparation.prepare import prepare
from pipelines.text.sources import Pairs


def interrupt(monkeypatch, owner, name, after):
    """Replaces a function by one that raises KeyboardInterrupt after some successful calls."""
    original, calls = getattr(owner, name), []

    def interrupted(*arguments, **named):
        if len(calls) == after:
            raise KeyboardInterrupt
        calls.append(1)
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, interrupted)


@pytest.mark.parametrize(
    ("owner", "name", "after"),
    [
        (cleaned_text, "write_part", 2),
        (preparation, "learn", 0),
        (Shard, "write", 2),
        (preparation, "report_text", 0),
        (shutil, "rmtree", 9),  # the temporary folder of the first shard
        (shutil, "rmtree", 12),  # the cleaned text, in the end
    ],
)
def test_an_interrupted_preparation_resumes_to_the_same_bytes(
    prepared, request, tmp_path, monkeypatch, owner, name, after
):
    if owner is not Shard:
        request.getfixturevalue("without_graphs")
    expected, _ = prepared
    folder = tmp_path / "toy"
    with monkeypatch.context() as patch:
        interrupt(patch, owner, name, after)
        with pytest.raises(KeyboardInterrupt):
            prepare(Pairs(CORPUS), folder, config())
    if owner is Shard:
        finished = [path for path in folder.glob("shard-*") if path.suffix != ".unfinished"]
        assert len(finished) == after
        with pytest.raises(ValueError, match="again if it was interrupted"):
            IdStore.read(folder)
    before = {path: path.stat().st_mtime_ns for path in folder.glob("shard-??????/*")}
    prepare(Pairs(CORPUS), folder, config())
    assert contents(folder) == contents(expected)
    for path, time in before.items():
        assert path.stat().st_mtime_ns == time, "a finished shard was encoded again"


@pytest.mark.usefixtures("without_graphs")
def test_leftovers_of_killed_processes_are_removed(prepared, tmp_path):
    folder = tmp_path / "toy"
    for name in ("cleaned.0a.unfinished", "vocabulary.0b.unfinished", "shard-000001.0c.unfinished"):
        (folder / name / "part").mkdir(parents=True)
    (folder / "store.json.unfinished").write_text("{")
    prepare(Pairs(CORPUS), folder, config())
    assert contents(folder) == contents(prepared[0])
    assert not list(folder.glob("*.unfinished"))
