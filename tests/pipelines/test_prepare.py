import os
import re
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import pipelines.cleaned_text as cleaned_text
import pipelines.prepare as preparation
from pipelines.batch_plan import BatchConfig
from pipelines.data_config import DataConfig
from pipelines.id_store import IdStore, Shard
from pipelines.prepare import prepare
from pipelines.sources import Pairs, TextFiles
from pipelines.tokenizers import load_tokenizer
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import VocabularyConfig, learn
from pipelines.whole import only_one

CORPUS = [*pairs(3000), ("", "leer"), ("same", "same"), pairs(1)[0]]


def config(**vocabulary):
    batches = BatchConfig(tokens=1000, max_length=60)
    return DataConfig(vocabulary=VocabularyConfig(size=500, **vocabulary), batches=batches)


@pytest.fixture(autouse=True, scope="module")
def several_parts():
    """Parts so small that the corpus has seven of them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleaned_text, "PART", 450)
        yield


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "toy"
    return folder, prepare(Pairs(CORPUS), folder, config())


def contents(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def interrupted(monkeypatch, owner, name, after):
    """Lets the method `name` be called `after` times before it is as if Ctrl-C were pressed."""
    original, calls = getattr(owner, name), []

    def once(*arguments, **named):
        if len(calls) == after:
            raise KeyboardInterrupt
        calls.append(1)
        return original(*arguments, **named)

    monkeypatch.setattr(owner, name, once)


def test_the_store_holds_the_kept_pairs_in_order(prepared):
    folder, _ = prepared
    store, tokenizer = IdStore.read(folder), load_tokenizer(folder / "vocabulary")
    expected = list(dict.fromkeys(CORPUS[:3000]))
    assert len(store) == len(expected)
    for column, side in enumerate(("source", "target")):
        ids = store.gather(side, range(len(store)), store.lengths[:, column].max())
        assert tokenizer.decode(ids) == [pair[column] for pair in expected]


def test_the_report_accounts_for_every_pair(prepared):
    folder, report = prepared
    counts = report["counts"]
    assert counts["read"] == 3003
    assert counts["empty"] == counts["identical"] == 1
    assert counts["kept"] + counts["empty"] + counts["identical"] + counts["duplicate"] == 3003
    store = IdStore.read(folder)
    source = report["sides"]["source"]
    assert source["pieces"] == store.lengths[:, 0].sum()
    assert source["words"] == sum(len(s.split()) for s, _ in dict.fromkeys(CORPUS[:3000]))
    assert source["pieces_a_word"] == source["pieces"] / source["words"]
    assert sum(report["histogram"]) == len(store)
    text = (folder / "report.txt").read_text()
    assert re.search(r"dropped +1 empty side, 1 source = target, \d+ duplicates", text)
    assert re.search(r"\d\d\.\d% of their positions hold real tokens", text)


def test_done_it_does_nothing_again(prepared, monkeypatch):
    folder, report = prepared
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.name != ".lock"}
    for name in ("clean_all", "learn", "encode_all", "write_report"):
        monkeypatch.setattr(preparation, name, None)
    assert prepare(Pairs(CORPUS), folder, config()) == report
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.name != ".lock"}
    assert after == before


def test_other_batches_renew_the_report_and_nothing_else(prepared, tmp_path):
    folder, report = prepared
    other = config()
    other.batches = BatchConfig(tokens=500, max_length=60, buckets=3)
    shards = {name: data for name, data in contents(folder).items() if "shard" in name}
    renewed = prepare(Pairs(CORPUS), folder, other)
    assert len(renewed["batches"]["widths"]) == 3
    assert renewed["sides"] == report["sides"]
    assert shards == {name: data for name, data in contents(folder).items() if "shard" in name}
    assert prepare(Pairs(CORPUS), folder, config()) == report


@pytest.mark.parametrize(
    ("owner", "name", "after"),
    [
        (cleaned_text, "write_part", 0),
        (cleaned_text, "write_part", 4),
        (preparation, "learn", 0),
        (preparation, "save_tokenizer", 0),
        (Shard, "write", 0),
        (Shard, "write", 3),
        (preparation, "make_report", 0),
        (preparation, "report_text", 0),
        (preparation.shutil, "rmtree", 12),
    ],
)
def test_interrupted_anywhere_it_goes_on_to_the_same_bytes(
    prepared, tmp_path, monkeypatch, owner, name, after
):
    expected, _ = prepared
    with monkeypatch.context() as patch:
        interrupted(patch, owner, name, after)
        with pytest.raises(KeyboardInterrupt):
            prepare(Pairs(CORPUS), tmp_path / "toy", config())
    if owner is Shard:
        finished = [p for p in (tmp_path / "toy").glob("shard-*") if p.suffix != ".unfinished"]
        assert len(finished) == after
        with pytest.raises(ValueError, match="once more if it was interrupted"):
            IdStore.read(tmp_path / "toy")
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "toy").glob("shard-*/*")}
    prepare(Pairs(CORPUS), tmp_path / "toy", config())
    assert contents(tmp_path / "toy") == contents(expected)
    for path, stamp in stamps.items():
        assert path.stat().st_mtime_ns == stamp, "a finished shard was made again"


def test_a_half_written_shard_never_counts(prepared, tmp_path):
    folder, _ = prepared
    shard = Shard.read(folder / "shard-000000")
    shard.write(tmp_path / "shard-000000")
    (tmp_path / "shard-000001.abc.unfinished").mkdir()
    assert len(IdStore.read(tmp_path)) == len(shard)


def test_killed_it_goes_on(prepared, tmp_path):
    """A process of its own, killed once its first shard is there."""
    expected, _ = prepared
    code = f"""
import sys; sys.path.insert(0, {str(os.path.dirname(__file__))!r})
import time
from test_prepare import *
cleaned_text.PART = 450
original = Shard.write
def slow(self, folder):
    original(self, folder)
    time.sleep(60)
Shard.write = slow
prepare(Pairs(CORPUS), {str(tmp_path / "toy")!r}, config())
"""
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 120
    while not (tmp_path / "toy" / "shard-000000").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert [path.name for path in (tmp_path / "toy").glob("shard-*")] == ["shard-000000"]
    prepare(Pairs(CORPUS), tmp_path / "toy", config())
    assert contents(tmp_path / "toy") == contents(expected)


def test_a_lost_or_damaged_shard_is_made_anew(prepared, tmp_path):
    expected, report = prepared
    shutil.copytree(expected, tmp_path / "toy")
    shutil.rmtree(tmp_path / "toy" / "shard-000002")
    with pytest.raises(ValueError, match="has lost shard-000002"):
        IdStore.read(tmp_path / "toy")
    stamp = (tmp_path / "toy" / "shard-000001" / "ids.npy").stat().st_mtime_ns
    assert prepare(Pairs(CORPUS), tmp_path / "toy", config()) == report
    assert contents(tmp_path / "toy") == contents(expected)
    assert (tmp_path / "toy" / "shard-000001" / "ids.npy").stat().st_mtime_ns == stamp


def test_a_mistake_can_be_mended_in_the_same_folder(prepared, tmp_path):
    """Nothing is kept of what came to nothing, so nothing stands in the way."""
    expected, _ = prepared
    too_large = config()
    too_large.vocabulary.size = 50_000
    with pytest.raises(ValueError, match="can have at most"):
        prepare(Pairs(CORPUS), tmp_path / "toy", too_large)
    with pytest.raises(ValueError, match="No pair of 1 is left"):
        prepare(Pairs(CORPUS[-2:-1]), tmp_path / "toy", config())
    prepare(Pairs(CORPUS), tmp_path / "toy", config())
    assert contents(tmp_path / "toy") == contents(expected)


def test_another_size_cleans_nothing_again(tmp_path, monkeypatch):
    too_large = config()
    too_large.vocabulary.size = 50_000
    with pytest.raises(ValueError, match="can have at most"):
        prepare(Pairs(CORPUS[:900]), tmp_path / "toy", too_large)
    monkeypatch.setattr(preparation, "clean_all", None)
    prepare(Pairs(CORPUS[:900]), tmp_path / "toy", config())


def test_damaged_notes_are_named(prepared, tmp_path):
    shutil.copytree(prepared[0], tmp_path / "toy")
    (tmp_path / "toy" / "preparation.json").write_text('{"format": 1, ')
    with pytest.raises(ValueError, match=r"preparation.json is damaged .* Delete it"):
        prepare(Pairs(CORPUS), tmp_path / "toy", config())


def test_a_whole_number_of_parts_has_no_empty_one(tmp_path):
    report = prepare(Pairs(CORPUS[:900]), tmp_path / "toy", config())
    assert report["counts"]["read"] == 900
    assert len(IdStore.read(tmp_path / "toy").shards) == 2


def test_changed_inputs_and_settings_are_noticed(prepared):
    folder, _ = prepared
    before = contents(folder)
    with pytest.raises(ValueError, match=r"something else; changed since: pairs\. Give another"):
        prepare(Pairs(CORPUS[1:]), folder, config())
    with pytest.raises(ValueError, match=r"vocabulary.seed \(then 1, now 2\)"):
        prepare(Pairs(CORPUS), folder, config(seed=2))
    assert contents(folder) == before


def test_a_file_is_known_by_what_is_in_it(tmp_path):
    (tmp_path / "a.en").write_text("".join(f"{e}\n" for e, _ in CORPUS[:500]))
    (tmp_path / "a.de").write_text("".join(f"{g}\n" for _, g in CORPUS[:500]))
    small = config()
    small.vocabulary.size = 400
    prepare(TextFiles(tmp_path / "a.en", tmp_path / "a.de"), tmp_path / "data", small)
    os.utime(tmp_path / "a.en", (1, 1))
    (tmp_path / "a.de").rename(tmp_path / "b.de")
    files = TextFiles(tmp_path / "a.en", tmp_path / "b.de")
    prepare(files, tmp_path / "data", small)
    with (tmp_path / "b.de").open("a") as file:
        file.write("Noch eine Zeile.\n")
    with pytest.raises(ValueError, match="changed since: target text"):
        prepare(files, tmp_path / "data", small)


def test_a_given_vocabulary_is_used(prepared, tmp_path):
    folder, _ = prepared
    tokenizer = load_tokenizer(folder / "vocabulary")
    prepare(Pairs(CORPUS[:600]), tmp_path / "more", config(), tokenizer)
    assert load_tokenizer(tmp_path / "more" / "vocabulary").model == tokenizer.model
    other = learn([side for pair in CORPUS for side in pair], VocabularyConfig(size=500, seed=1))
    other.model = other.model[::-1]
    with pytest.raises(ValueError, match=r"changed since: vocabulary.contents"):
        prepare(Pairs(CORPUS[:600]), tmp_path / "more", config(), other)
    whole, part = IdStore.read(folder), IdStore.read(tmp_path / "more")
    np.testing.assert_array_equal(part.lengths, whole.lengths[: len(part)])


def test_a_given_vocabulary_normalises_as_it_always_does(prepared, tmp_path):
    tokenizer = load_tokenizer(prepared[0] / "vocabulary")
    raw = config()
    raw.cleaning.nfc = False
    texts = [(f"Der Hund {n} scha\u0308ft.", f"The dog {n} sle\u0301eps.") for n in range(40)]
    prepare(Pairs(texts), tmp_path / "data", raw, tokenizer)
    expected = [len(ids) for ids in tokenizer.encode([source for source, _ in texts])]
    assert IdStore.read(tmp_path / "data").lengths[:, 0].tolist() == expected


def test_word_pieces_are_prepared_in_the_same_way(tmp_path):
    small = config(kind="word_pieces")
    prepare(Pairs(CORPUS[:1000]), tmp_path / "toy", small)
    store, tokenizer = IdStore.read(tmp_path / "toy"), load_tokenizer(tmp_path / "toy/vocabulary")
    ids = tokenizer.encode([target for _, target in dict.fromkeys(CORPUS[:1000])])
    np.testing.assert_array_equal(store.lengths[:, 1], [len(sentence) for sentence in ids])


def test_a_sample_is_learned_from_and_is_the_same_for_a_seed(tmp_path):
    models = []
    for number, seed in enumerate((1, 1, 2)):
        folder = tmp_path / str(number)
        prepare(Pairs(CORPUS), folder, config(sample_pairs=300, seed=seed))
        models.append(load_tokenizer(folder / "vocabulary").model)
    assert models[0] == models[1] != models[2]


def test_a_folder_with_other_things_in_it_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"other things in it \(thesis.tex\). Give the name"):
        prepare(Pairs(CORPUS), tmp_path, config())
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_two_at_once_are_refused(prepared):
    folder, _ = prepared
    with (
        only_one(folder),
        pytest.raises(ValueError, match=r"in use by process \d+: wait"),
    ):
        prepare(Pairs(CORPUS), folder, config())


def test_when_cleaning_leaves_nothing_it_says_why(tmp_path):
    with pytest.raises(ValueError, match=r"No pair of 2 is left .*\(2 source = target\)"):
        prepare(Pairs([("a", "a"), ("b", "b")]), tmp_path / "data", config())


def test_a_corpus_too_small_for_a_batch_is_prepared_all_the_same(tmp_path):
    small = config()
    small.vocabulary.size = 320
    report = prepare(Pairs(CORPUS[:5]), tmp_path / "data", small)
    assert "examples do not fill one batch" in report["batches"]["problem"]
    assert "do not fill one batch" in (tmp_path / "data" / "report.txt").read_text()
