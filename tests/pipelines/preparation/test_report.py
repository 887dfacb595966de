from collections import Counter

from pipelines.batches.batch_plan import BatchConfig
from pipelines.batches.id_store import IdStore, Shard
from pipelines.preparation.report import dropped_text, make_report, report_text
from pipelines.tokenizers.tokenizer_base import Tokenizer


class ByteTokenizer(Tokenizer):
    kind, size, byte_ids = "bpe", 100, [10, 11]


def report(pairs=200):
    store = IdStore([Shard.of([([4, 3, 10, 10], [5, 6])] * pairs)])
    counts = {
        **{"read": pairs + 7, "kept": pairs, "max_ratio": 5, "duplicates": 2, "nfc": 1},
        "words": {"source": 2 * pairs, "target": pairs},
        "characters": {"source": 8 * pairs, "target": 4 * pairs},
    }
    return make_report(store, ByteTokenizer(), counts, BatchConfig(tokens=400, max_length=50))


def test_the_report_counts_pieces_unknown_ids_and_bytes():
    source, target = report()["sides"].values()
    assert (source["pieces"], source["pieces_a_word"], source["longest"]) == (800, 2.0, 4)
    assert (source["unknown"], source["in_bytes"]) == (0.25, 0.5)
    assert (target["unknown"], target["in_bytes"], target["characters_a_piece"]) == (0, 0, 2.0)


def test_the_text_lists_what_was_dropped_and_changed():
    text = report_text(report())
    assert "207 read, 200 kept" in text
    assert "dropped     5 lengths too different, 2 duplicates\n" in text
    assert "changed     1 composed by NFC\n" in text
    assert "80.0% of their positions hold real tokens" in text
    assert "rows × width: 64 × 5" in text
    assert " 0–9          200 █" in text


def test_a_corpus_without_a_full_batch_and_without_dropped_pairs_has_a_report():
    assert dropped_text(Counter(empty=0)) == "nothing"
    assert "batches     up to 400 tokens per side: 3 examples do not fill" in report_text(report(3))


def test_dropped_texts_cannot_control_the_terminal():
    dropped = {"max_ratio": [["a\x1b[2J", "b\r"]]}
    assert r"    a\x1b[2J" + "\n" + r"      → b\r" in report_text(report() | {"examples": dropped})
