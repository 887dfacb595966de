"""The texts that the teacher translates: nothing is lost, reordered or written twice."""

import gzip

import numpy as np

from pipelines.atomic_files import read_json, write_json
from pipelines.batches.id_store import Shard, finished_store
from pipelines.text.normalization import Normalization
from pipelines.tokenizers import load_tokenizer, save_tokenizer
from pipelines.tokenizers.vocabulary import VocabularyConfig, learn
from t2t_keras.distillation import source_texts
from t2t_keras.distillation.source_texts import write_mono, write_real


def lines_in(path):
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def write_data(folder, tokenizer, *shards, **preparation):
    """Writes prepared data; each shard is a list of (source, target) ids."""
    save_tokenizer(tokenizer, folder / "vocabulary")
    for index, pairs in enumerate(shards):
        Shard.of(pairs).write(folder / f"shard-{index:06}")
    finished_store(folder)
    write_json(folder / "preparation.json", preparation)


def test_shards_are_joined_and_useless_pairs_left_out(vocabulary, tmp_path, monkeypatch):
    monkeypatch.setattr(source_texts, "CHUNK", 2)
    tokenizer = load_tokenizer(vocabulary)
    ids = tokenizer.encode(["The dog sleeps.", "A cat.", "", "The cat " * 30, "A dog."])
    unknown = np.array([*ids[1], 3])
    pairs = [(one, ids[0]) for one in (*ids[:4], unknown, ids[4])]
    write_data(tmp_path / "data", tokenizer, pairs[:3], pairs[3:])
    counts = write_real(tmp_path / "texts", tmp_path / "data", longest=100)
    assert counts == {"written": 4, "empty": 1, "too_long": 1, "unknown": 1}
    written = lines_in(tmp_path / "texts" / "real.txt")
    assert written[:2] + written[3:] == ["The dog sleeps.", "A cat.", "A dog."]
    assert lines_in(tmp_path / "texts" / "real_target.txt") == ["The dog sleeps."] * 4


def test_the_tag_before_the_sources_is_not_part_of_the_text(tmp_path):
    texts = ["the dog sleeps", "a cat sleeps"] * 50
    tokenizer = learn(texts, VocabularyConfig(size=300, tags=("<2de>",)))
    tag = tokenizer.source.tags["<2de>"]
    (ids,) = tokenizer.encode(["the dog"])
    write_data(tmp_path / "data", tokenizer, [(np.array([tag, *ids]), ids)], tag="<2de>")
    write_real(tmp_path, tmp_path / "data")
    assert lines_in(tmp_path / "real.txt") == ["the dog"]


def test_monolingual_text_is_normalized_and_new(tmp_path):
    (tmp_path / "known.txt").write_text("Known line.\n")
    (tmp_path / "real.txt").write_text("Last\n")  # left by an earlier call with --data
    lines = ["One  line.", "", "Known line.", "One line.", "x" * 101, "Two\tcolumns"]
    text = "".join(f"{line}\n" for line in lines).encode() + b"bad \xff\n"
    (tmp_path / "a.gz").write_bytes(gzip.compress(text))
    (tmp_path / "b.txt").write_text("Last\n")
    files = f"{tmp_path}/*.gz,{tmp_path}/b.txt"
    counts = write_mono(tmp_path, files, Normalization(), longest=100, known=tmp_path / "known.txt")
    assert lines_in(tmp_path / "mono.txt") == ["One line.", "Two columns", "Last"]
    expected = {"written": 3, "empty": 1, "too_long": 1, "duplicates": 2, "invalid_utf8": 1}
    assert counts == expected == read_json(tmp_path / "mono.json")
