import gzip
import json
import os
import re
import shutil

import numpy as np
import pytest
from support.text.small_corpus import CORPUS, KEPT, PART, config, contents

import pipelines.preparation.prepare as preparation
from pipelines.atomic_files import only_one
from pipelines.batches.batch_plan import BatchConfig
from pipelines.batches.id_store import SIDES, IdStore
from pipelines.preparation.prepare import prepare
from pipelines.text.sources import Pairs, TextFiles
from pipelines.tokenizers import load_tokenizer
from pipelines.tokenizers.separated_tokens import TokenTokenizer

pytestmark = pytest.mark.usefixtures("small_parts")


def times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.name != ".lock"}


def test_the_store_holds_the_kept_pairs_in_order(prepared):
    folder, _ = prepared
    store, tokenizer = IdStore.read(folder), load_tokenizer(folder / "vocabulary")
    assert len(store) == len(KEPT)
    assert len(store.shards) == 4
    for column, side in enumerate(SIDES):
        ids = store.gather(side, range(len(store)), store.lengths[:, column].max())
        assert tokenizer.decode(ids) == [pair[column] for pair in KEPT]


def test_the_report_accounts_for_every_pair(prepared):
    folder, report = prepared
    counts = report["counts"]
    assert counts["read"] == 703
    assert counts["empty"] == counts["identical"] == 1
    assert counts["kept"] + counts["empty"] + counts["identical"] + counts["duplicates"] == 703
    store = IdStore.read(folder)
    source = report["sides"]["source"]
    assert source["pieces"] == store.lengths[:, 0].sum()
    assert source["words"] == sum(len(s.split()) for s, _ in KEPT)
    assert source["pieces_a_word"] == source["pieces"] / source["words"]
    assert sum(report["histogram"]) == len(store)
    text = (folder / "report.txt").read_text()
    assert re.search(r"dropped +1 empty side, 1 source = target, \d+ duplicates", text)
    assert re.search(r"\d\d\.\d% of their positions hold real tokens", text)


def test_a_finished_preparation_is_not_repeated(prepared, monkeypatch):
    folder, report = prepared
    before = times(folder)
    for name in ("clean_all", "learn", "encode_all", "write_report"):
        monkeypatch.setattr(preparation, name, None)
    assert prepare(Pairs(CORPUS), folder, config()) == report
    assert times(folder) == before


def test_different_batch_settings_renew_only_the_report(prepared):
    folder, report = prepared
    different = config()
    different.batches = BatchConfig(tokens=500, max_length=60, buckets=3)
    before = times(folder)
    renewed = prepare(Pairs(CORPUS), folder, different)
    assert len(renewed["batches"]["widths"]) == 3
    assert renewed["sides"] == report["sides"]
    changed = {path.name for path, time in times(folder).items() if time != before[path]}
    assert changed - {folder.name} == {"report.json", "report.txt"}
    assert prepare(Pairs(CORPUS), folder, config()) == report


def test_only_a_lost_shard_is_encoded_again(prepared, tmp_path):
    expected, report = prepared
    folder = tmp_path / "toy"
    shutil.copytree(expected, folder)
    shutil.rmtree(folder / "shard-000002")
    with pytest.raises(ValueError, match="has lost shard-000002"):
        IdStore.read(folder)
    kept = folder / "shard-000001" / "ids.npy"
    before = kept.stat().st_mtime_ns
    assert prepare(Pairs(CORPUS), folder, config()) == report
    assert contents(folder) == contents(expected)
    assert kept.stat().st_mtime_ns == before


def test_a_refused_setting_or_corpus_leaves_nothing_behind(prepared, tmp_path):
    expected, _ = prepared
    with pytest.raises(ValueError, match="can have at most"):
        prepare(Pairs(CORPUS), tmp_path / "toy", config(size=50_000))
    with pytest.raises(ValueError, match="Cleaning dropped all 1 pairs"):
        prepare(Pairs(CORPUS[-2:-1]), tmp_path / "toy", config())
    prepare(Pairs(CORPUS), tmp_path / "toy", config())
    assert contents(tmp_path / "toy") == contents(expected)


def test_a_refused_vocabulary_size_keeps_the_cleaned_text(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="can have at most"):
        prepare(Pairs(CORPUS), tmp_path / "toy", config(size=50_000))
    monkeypatch.setattr(preparation, "clean_all", None)
    prepare(Pairs(CORPUS), tmp_path / "toy", config())


def test_a_damaged_file_is_named(prepared, tmp_path):
    shutil.copytree(prepared[0], tmp_path / "toy")
    (tmp_path / "toy" / "preparation.json").write_text('{"format": 1, ')
    with pytest.raises(ValueError, match=r"preparation.json is damaged .* Delete it"):
        prepare(Pairs(CORPUS), tmp_path / "toy", config())


def test_a_finished_preparation_is_verified(prepared, tmp_path):
    folder = tmp_path / "toy"
    shutil.copytree(prepared[0], folder)
    path = next(folder.glob("shard-*")) / "ids.npy"
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    with pytest.raises(ValueError, match=r"ids.npy does not match its digest.*Delete it"):
        prepare(Pairs(CORPUS), folder, config())
    shutil.rmtree(path.parent)
    prepare(Pairs(CORPUS), folder, config())
    assert contents(folder) == contents(prepared[0])


def test_a_damaged_report_is_restored_or_named(prepared, tmp_path):
    folder, report = tmp_path / "toy", prepared[1]
    shutil.copytree(prepared[0], folder)
    (folder / "report.txt").write_text("half a rep")
    assert prepare(Pairs(CORPUS), folder, config()) == report
    assert contents(folder) == contents(prepared[0])
    (folder / "report.json").write_text('{"counts": {}}')
    with pytest.raises(ValueError, match=r"report.json is not a report .*Delete it"):
        prepare(Pairs(CORPUS), folder, config())


def test_shards_without_their_record_are_not_reused(prepared, tmp_path):
    shutil.copytree(prepared[0], tmp_path / "toy")
    (tmp_path / "toy" / "preparation.json").unlink()
    prepare(Pairs(CORPUS[100:]), tmp_path / "toy", config())
    prepare(Pairs(CORPUS[100:]), tmp_path / "new", config())
    assert contents(tmp_path / "toy") == contents(tmp_path / "new")


def test_a_corpus_of_whole_parts_has_no_empty_part(tmp_path):
    report = prepare(Pairs(CORPUS[: 2 * PART]), tmp_path / "toy", config(size=350))
    assert report["counts"]["read"] == 2 * PART
    assert len(IdStore.read(tmp_path / "toy").shards) == 2


def test_changed_input_and_settings_are_refused_by_name(prepared):
    folder, _ = prepared
    before = contents(folder)
    with pytest.raises(ValueError, match=r"different input or settings. Changed: pairs\. Give"):
        prepare(Pairs(CORPUS[1:]), folder, config())
    with pytest.raises(ValueError, match=r"vocabulary.seed \(was 1, is 2\)"):
        prepare(Pairs(CORPUS), folder, config(seed=2))
    assert contents(folder) == before


def test_files_are_recognized_by_their_contents(prepared, tmp_path):
    for column, name in enumerate(("a.en", "a.de")):
        (tmp_path / name).write_text("".join(f"{pair[column]}\n" for pair in CORPUS))
    prepare(TextFiles(tmp_path / "a.en", tmp_path / "a.de"), tmp_path / "data", config())
    os.utime(tmp_path / "a.en", (1, 1))
    (tmp_path / "a.de").rename(tmp_path / "b.de")
    files = TextFiles(tmp_path / "a.en", tmp_path / "b.de")
    prepare(files, tmp_path / "data", config())
    with (tmp_path / "b.de").open("a") as file:
        file.write("Noch eine Zeile.\n")
    with pytest.raises(ValueError, match="Changed: target text"):
        prepare(files, tmp_path / "data", config())


def test_an_existing_vocabulary_is_used(prepared, tmp_path):
    folder, _ = prepared
    tokenizer = load_tokenizer(folder / "vocabulary")
    prepare(Pairs(CORPUS[:300]), tmp_path / "more", config(), tokenizer)
    assert load_tokenizer(tmp_path / "more" / "vocabulary").model == tokenizer.model
    whole, part = IdStore.read(folder), IdStore.read(tmp_path / "more")
    np.testing.assert_array_equal(part.lengths, whole.lengths[: len(part)])
    tokenizer.model = tokenizer.model[::-1]
    with pytest.raises(ValueError, match=r"Changed: vocabulary.contents"):
        prepare(Pairs(CORPUS[:300]), tmp_path / "more", config(), tokenizer)


def test_the_normalization_of_an_existing_vocabulary_replaces_the_settings(prepared, tmp_path):
    tokenizer = load_tokenizer(prepared[0] / "vocabulary")
    without_nfc = config()
    without_nfc.cleaning.nfc = False
    texts = [(f"Der Hund {n} scha\u0308ft.", f"The dog {n} sle\u0301eps.") for n in range(40)]
    prepare(Pairs(texts), tmp_path / "data", without_nfc, tokenizer)
    expected = [len(ids) for ids in tokenizer.encode([source for source, _ in texts])]
    assert IdStore.read(tmp_path / "data").lengths[:, 0].tolist() == expected


def test_word_pieces_are_prepared_in_the_same_way(tmp_path):
    prepare(Pairs(CORPUS[:100]), tmp_path / "toy", config(kind="word_pieces", size=300))
    store, tokenizer = IdStore.read(tmp_path / "toy"), load_tokenizer(tmp_path / "toy/vocabulary")
    assert tokenizer.kind == "word_pieces"
    ids = tokenizer.encode([target for _, target in dict.fromkeys(CORPUS[:100])])
    np.testing.assert_array_equal(store.lengths[:, 1], [len(sentence) for sentence in ids])


def test_sentences_are_encoded_several_times(prepared, tmp_path):
    expected, plain_report = prepared
    folder = tmp_path / "toy"
    report = prepare(Pairs(CORPUS), folder, config(encodings=3))
    store, tokenizer = IdStore.read(folder), load_tokenizer(folder / "vocabulary")
    assert (store.encodings, len(store)) == (3, len(KEPT))
    np.testing.assert_array_equal(store.lengths, IdStore.read(expected).lengths)
    for encoding in range(3):
        ids = store.gather("target", range(len(store)), store.all_lengths.max(), encoding)
        assert tokenizer.decode(ids) == [target for _, target in KEPT]
    assert report["encodings"] == 3 and "encodings" not in plain_report
    pieces = store.all_lengths[1:, :, 0].sum() / 2
    source = report["sides"]["source"]
    assert source["pieces_a_word_with_dropout"] == pytest.approx(pieces / source["words"])
    assert source["pieces_a_word"] == plain_report["sides"]["source"]["pieces_a_word"]
    text = (folder / "report.txt").read_text()
    assert re.search(
        r"encodings   3 per sentence, 2 with BPE dropout: source (\d\.\d\d) pieces per word "
        r"\(without: (?!\1)\d\.\d\d\), target",
        text,
    )


def test_changed_encodings_are_refused_by_name(prepared):
    with pytest.raises(ValueError, match=r"encodings.per_sentence \(was 1, is 3\)"):
        prepare(Pairs(CORPUS), prepared[0], config(encodings=3))


def test_dropout_on_word_pieces_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ValueError, match="need a vocabulary of kind 'bpe'"):
        prepare(Pairs(CORPUS), tmp_path / "toy", config(encodings=2, kind="word_pieces"))
    tokenizer = TokenTokenizer(["<pad>", "<s>", "</s>", "<unk>", "a"])
    with pytest.raises(ValueError, match="a vocabulary of kind 'tokens'"):
        prepare(Pairs(CORPUS), tmp_path / "toy", config(encodings=2), tokenizer)
    assert not (tmp_path / "toy").exists()


def test_a_vocabulary_is_learned_from_the_sample(prepared, tmp_path, monkeypatch):
    samples = []

    def learn(texts, *_):
        samples.append(list(texts))
        return load_tokenizer(prepared[0] / "vocabulary")

    monkeypatch.setattr(preparation, "learn", learn)
    prepare(Pairs(CORPUS), tmp_path / "toy", config(sample_pairs=300))
    (sample,) = samples
    assert len(sample) == 2 * 300 and set(sample) < {text for pair in KEPT for text in pair}


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ValueError, match=r"contains other files \(thesis.tex\). Give the name"):
        prepare(Pairs(CORPUS), tmp_path, config())
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


def test_a_second_preparation_of_the_same_folder_is_refused(prepared):
    folder, _ = prepared
    with (
        only_one(folder),
        pytest.raises(ValueError, match=r"in use by process \d+. Wait"),
    ):
        prepare(Pairs(CORPUS), folder, config())


def test_a_corpus_of_which_nothing_is_kept_is_refused_with_the_rule(tmp_path):
    with pytest.raises(ValueError, match=r"dropped all 2 pairs \(2 source = target\)"):
        prepare(Pairs([("a", "a"), ("b", "b")]), tmp_path / "data", config())


def test_a_corpus_smaller_than_a_batch_is_prepared(tmp_path):
    report = prepare(Pairs(CORPUS[:5]), tmp_path / "data", config(size=320))
    assert "examples do not fill one batch" in report["batches"]["problem"]
    assert "do not fill one batch" in (tmp_path / "data" / "report.txt").read_text()


def test_the_languages_are_recorded_and_may_be_corrected(tmp_path):
    def recorded():
        contents = json.loads((tmp_path / "data/preparation.json").read_text())
        return contents.get("languages")

    paths = tmp_path / "train.en", tmp_path / "train.de.gz"
    paths[0].write_text("".join(f"{source}\n" for source, _ in KEPT))
    with gzip.open(paths[1], "wt") as file:
        file.writelines(f"{target}\n" for _, target in KEPT)
    report = prepare(TextFiles(*map(str, paths)), tmp_path / "data", config())
    assert recorded() == ["en", "de"]
    shards = times(tmp_path / "data")
    renamed = [path.rename(tmp_path / name) for path, name in zip(paths, "ab", strict=True)]
    source = TextFiles(*map(str, renamed))
    assert prepare(source, tmp_path / "data", config()) == report
    assert times(tmp_path / "data") == shards
    assert prepare(source, tmp_path / "data", config(), languages=("en", "nds")) == report
    assert recorded() == ["en", "nds"]
