import gzip
import json
import os
import re
import shutil

import numpy as np
import pytest
from support.text.small_corpus import CORPUS, KEPT, config, contents

import pipelines.preparation.prepare as preparation
from pipelines.atomic_files import locked_folder
from pipelines.batches.batch_plan import BatchConfig
from pipelines.batches.id_store import SIDES, IdStore, Shard
from pipelines.preparation import report as reports
from pipelines.preparation.prepare import prepare
from pipelines.text.sources import Pairs, TextFiles
from pipelines.tokenizers import load_tokenizer

pytestmark = pytest.mark.usefixtures("small_parts")


@pytest.fixture
def copied(prepared, tmp_path):
    """A copy of the prepared folder."""
    return shutil.copytree(prepared[0], tmp_path / "copied")


@pytest.fixture
def tokenizer(prepared):
    return load_tokenizer(prepared[0] / "vocabulary")


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.name != ".lock"}


def test_the_store_holds_the_kept_pairs_in_order_and_the_report_counts_all(prepared, tokenizer):
    folder, report = prepared
    store = IdStore.read(folder)
    assert len(store) == len(KEPT)
    assert len(store.shards) == 4
    for column, side in enumerate(SIDES):
        ids = store.gather(side, range(len(store)), store.lengths[0, :, column].max())
        assert tokenizer.decode(ids) == [pair[column] for pair in KEPT]
    counts, source = report["counts"], report["sides"]["source"]
    assert counts["read"] == len(CORPUS)
    assert counts["empty"] == counts["identical"] == 1
    assert counts["duplicates"] == len(CORPUS) - 2 - len(KEPT) and counts["kept"] == len(KEPT)
    assert source["pieces"] == store.lengths[0, :, 0].sum()
    assert source["words"] == sum(len(text.split()) for text, _ in KEPT)
    assert sum(report["histogram"]) == len(store)
    text = (folder / "report.txt").read_text()
    assert re.search(r"dropped +1 empty side, 1 source = target, \d+ duplicates", text)


def test_a_finished_preparation_is_not_repeated(prepared, monkeypatch):
    folder, report = prepared
    before = times(folder)
    for name in ("finish", "write_report"):
        monkeypatch.setattr(preparation, name, None)
    assert prepare(Pairs(CORPUS), folder, config()) == report
    assert times(folder) == before


def test_different_batch_settings_renew_only_the_report(prepared, copied):
    report, different = prepared[1], config()
    different.batches = BatchConfig(tokens=500, max_length=60, buckets=3)
    before = times(copied)
    renewed = prepare(Pairs(CORPUS), copied, different)
    assert len(renewed["batches"]["widths"]) == 3
    assert renewed["sides"] == report["sides"]
    changed = {path.name for path, time in times(copied).items() if time != before[path]}
    assert changed - {copied.name} == {"report.json", "report.txt"}
    assert prepare(Pairs(CORPUS), copied, config()) == report


def test_a_damaged_shard_is_named_and_only_a_deleted_one_is_encoded_again(prepared, copied):
    path = copied / "shard-000002" / "ids.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(ValueError, match=r"ids.npy does not match its digest.*Delete it"):
        prepare(Pairs(CORPUS), copied, config())
    shutil.rmtree(path.parent)
    kept = copied / "shard-000001" / "ids.npy"
    before = kept.stat().st_mtime_ns
    assert prepare(Pairs(CORPUS), copied, config()) == prepared[1]
    assert contents(copied) == contents(prepared[0])
    assert kept.stat().st_mtime_ns == before


def test_refused_text_and_size_do_no_harm_and_cleaned_text_is_kept(prepared, tmp_path, monkeypatch):
    folder = tmp_path / "data"
    with pytest.raises(ValueError, match=r"dropped all 2 pairs \(2 source = target\)"):
        prepare(Pairs([("a", "a"), ("b", "b")]), folder, config())
    with pytest.raises(ValueError, match="There is no text in the source"):
        prepare(Pairs([]), folder, config())
    with pytest.raises(ValueError, match="need a vocabulary of kind 'bpe'"):
        prepare(Pairs(CORPUS), folder, config(encodings=2, kind="word_pieces"))
    with pytest.raises(ValueError, match="can have at most"):
        prepare(Pairs(CORPUS), folder, config(encodings=3, size=50_000))
    monkeypatch.setattr(preparation.InThisProcess, "clean", None)
    prepare(Pairs(CORPUS), folder, config())
    assert contents(folder) == contents(prepared[0])


def test_changed_input_and_settings_are_refused_by_name(prepared):
    folder, _ = prepared
    before = contents(folder)
    for source, changed, message in [
        (CORPUS[1:], config(), r"different input or settings. Changed: pairs\. Give"),
        (CORPUS, config(seed=2), r"vocabulary.seed \(was 1, is 2\)"),
        (CORPUS, config(encodings=3), r"encodings.per_sentence \(was 1, is 3\)"),
    ]:
        with pytest.raises(ValueError, match=message):
            prepare(Pairs(source), folder, changed)
    assert contents(folder) == before


def test_files_are_recognized_by_their_contents_and_their_languages_may_be_corrected(tmp_path):
    def recorded():
        return json.loads((tmp_path / "data/preparation.json").read_text()).get("languages")

    paths = tmp_path / "train.en", tmp_path / "train.de.gz"
    paths[0].write_text("".join(f"{source}\n" for source, _ in KEPT))
    with gzip.open(paths[1], "wt") as file:
        file.writelines(f"{target}\n" for _, target in KEPT)
    report = prepare(TextFiles(*map(str, paths)), tmp_path / "data", config())
    assert recorded() == ["en", "de"]
    before = times(tmp_path / "data")
    renamed = [path.rename(tmp_path / name) for path, name in zip(paths, "ab", strict=True)]
    os.utime(renamed[0], (1, 1))
    source = TextFiles(*map(str, renamed))
    assert prepare(source, tmp_path / "data", config()) == report
    assert times(tmp_path / "data") == before
    assert prepare(source, tmp_path / "data", config(), languages=("en", "nds")) == report
    assert recorded() == ["en", "nds"]
    with gzip.open(renamed[1], "at") as file:
        file.write("Noch eine Zeile.\n")
    with pytest.raises(ValueError, match="Changed: target text"):
        prepare(source, tmp_path / "data", config())


def test_an_existing_vocabulary_is_used_with_its_normalization(tokenizer, tmp_path):
    texts = Pairs(
        [(f"Der Hund {n} scha\u0308ft.", f"The dog {n} sle\u0301eps.") for n in range(40)]
    )
    without_nfc, folder = config(), tmp_path / "data"
    without_nfc.cleaning.nfc = False
    prepare(texts, folder, without_nfc, tokenizer)
    assert load_tokenizer(folder / "vocabulary").model == tokenizer.model
    expected = [len(ids) for ids in tokenizer.encode([source.decode() for source, _ in texts])]
    assert IdStore.read(folder).lengths[0, :, 0].tolist() == expected
    tokenizer.model = tokenizer.model[::-1]
    with pytest.raises(ValueError, match=r"Changed: vocabulary.contents"):
        prepare(texts, folder, without_nfc, tokenizer)


def test_sentences_are_encoded_several_times(prepared, tokenizer, tmp_path):
    expected, plain_report = prepared
    folder = tmp_path / "toy"
    report = prepare(Pairs(CORPUS), folder, config(encodings=3))
    store = IdStore.read(folder)
    assert (store.encodings, len(store)) == (3, len(KEPT))
    np.testing.assert_array_equal(store.lengths[:1], IdStore.read(expected).lengths)
    ids = store.gather("target", range(len(store)), store.lengths.max(), 2)
    assert tokenizer.decode(ids) == [target for _, target in KEPT]
    assert report["encodings"] == 3 and "encodings" not in plain_report
    pieces = store.lengths[1:, :, 0].sum() / 2
    source = report["sides"]["source"]
    assert source["pieces_a_word_with_dropout"] == pytest.approx(pieces / source["words"])
    assert source["pieces_a_word"] == plain_report["sides"]["source"]["pieces_a_word"]
    text = (folder / "report.txt").read_text()
    assert "encodings   3 per sentence, 2 with BPE dropout: source " in text


def test_a_folder_with_other_files_or_in_use_is_refused(prepared, tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"contains other files \(thesis.tex\). Give the name"):
        prepare(Pairs(CORPUS), tmp_path, config())
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    refused = pytest.raises(ValueError, match=r"in use by process \d+. Wait")
    with locked_folder(prepared[0]), refused:
        prepare(Pairs(CORPUS), prepared[0], config())


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
        (preparation.cleaned_text, "write_part", 2),
        (preparation, "learn", 0),
        (Shard, "write", 2),
        (reports, "report_text", 0),
        (shutil, "rmtree", 9),  # the temporary folder of the first shard
        (shutil, "rmtree", 12),  # the cleaned text, in the end
    ],
)
def test_an_interrupted_preparation_resumes_to_the_same_bytes(
    prepared, tmp_path, monkeypatch, owner, name, after
):
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
