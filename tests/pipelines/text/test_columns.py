import numpy as np
import pytest

from pipelines.batches.assembly import batches
from pipelines.batches.batch_plan import BatchConfig, BatchPlan
from pipelines.batches.columns import BatchColumns
from pipelines.batches.corpora import read_corpora
from pipelines.batches.id_store import IdStore
from pipelines.checks import SourceError
from pipelines.data_config import DataConfig
from pipelines.preparation.prepare import prepare
from pipelines.text.columns import COLUMNS, ColumnedPairs, Number, Numbers, Text
from pipelines.text.sources import Pairs
from pipelines.tokenizers import load_tokenizer
from pipelines.tokenizers.vocabulary import VocabularyConfig

# The target has the words of the source in reverse order. A duplicate or an empty pair follows.
WORDS = ["eins", "zweitausend", "drei", "vierundvierzig", "fünf", "sechs", "sieben"]
TEXTS = [" ".join(WORDS[: n % 6 + 1]) + f" nummer{n}" for n in range(40)]
PAIRS = [(text, " ".join(reversed(text.split()))) for text in TEXTS]
PAIRS = [each for n, pair in enumerate(PAIRS) for each in (pair, ("", "") if n % 3 else pair)]
KINDS = {"length": Number(), "ends": Numbers(), "copy": Text("target"), "source": Number()}


@pytest.fixture(scope="module")
def kinds():
    COLUMNS.update(KINDS)
    yield
    for name in KINDS:
        del COLUMNS[name]


def columns(folder):
    """Writes the files of five columns, which follow from the texts, and returns them by name."""
    lines = {
        "weights": [f"{len(source) / 10}" for source, _ in PAIRS],
        "alignments": [
            " ".join(f"{n}-{len(source.split()) - 1 - n}" for n in range(len(source.split())))
            for source, _ in PAIRS
        ],
        "length": [f"{len(source)}" for source, _ in PAIRS],
        "ends": [" ".join(map(str, range(len(source.split())))) for source, _ in PAIRS],
        "copy": [source for source, _ in PAIRS],
    }
    for name, each in lines.items():
        (folder / name).write_text("".join(f"{line}\n" for line in each))
    return {name: folder / name for name in lines}


def prepared_in(folder, source, **options):
    config = DataConfig(vocabulary=VocabularyConfig(size=310))
    config.encodings.per_sentence, config.encodings.bpe_dropout = 3, 0.2
    report = prepare(source, folder, config, **options)
    assert report.get("columns", []) == sorted(getattr(source, "kinds", []))
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory, kinds):
    """Two corpora with the same pairs: one with columns, one without, and with a tag."""
    folder = tmp_path_factory.mktemp("columns")
    first = prepared_in(folder / "first", ColumnedPairs(Pairs(PAIRS), columns(folder)), tag="<2xx>")
    tokenizer = load_tokenizer(first / "vocabulary")
    return first, prepared_in(folder / "second", Pairs(PAIRS), tokenizer=tokenizer)


def batches_of(folder, names, **options):
    corpora = read_corpora(str(folder))
    tokenizer = load_tokenizer(corpora.vocabulary)
    plan = BatchPlan(
        corpora.store.lengths + 1,
        BatchConfig(tokens=400, buckets=3, max_length=45, row_multiple=4),
        seed=3,
        mix=corpora.mix,
    )
    columns = BatchColumns(corpora.store, names, tokenizer)
    return tokenizer, batches(corpora.store, plan, steps=2 * plan.steps, columns=columns, **options)


@pytest.mark.parametrize("options", [{}, {"start_step": 2}, {"workers": 2, "worker": 1}])
def test_every_row_has_the_values_of_its_pair(data, options):
    tokenizer, found = batches_of(data[0], ["weights", "length", "ends", "copy"], **options)
    rows = 0
    for inputs, _, weights in found:
        np.testing.assert_array_equal(weights, inputs["weights"])
        texts = tokenizer.decode(inputs["source"])
        for row, text in enumerate(each for each in texts if each):
            assert inputs["length"][row] == len(text)
            assert weights[row] == np.float32(len(text) / 10)
            count = len(text.split())
            assert inputs["ends"][row].tolist()[:count] == [*range(count)]
            assert tokenizer.decode([inputs["copy"][row]]) == [text]
            rows += 1
    assert rows >= 40


def test_links_of_words_become_links_of_their_pieces_behind_a_tag_and_with_dropout(data):
    tokenizer, found = batches_of(data[0], ["alignments"])
    tag = tokenizer.source.tags["<2xx>"]
    for inputs, labels in found:
        source, linked = inputs["source"], inputs["alignments"]
        assert linked.shape == (*labels.shape, source.shape[1])
        for ids, label, links in zip(source, labels, linked, strict=True):
            if not ids.any():
                assert not links.any()
                continue
            assert ids[0] == tag and not links[:, 0].any()
            # Corresponding words are equal, and each piece has links to all pieces of its word.
            for target, piece in enumerate(label):
                aligned = tokenizer.decode([ids[links[target] > 0]])[0].strip()
                is_text = piece not in tokenizer.marks
                assert bool(aligned) == is_text
                if is_text:
                    whole = links[:, np.flatnonzero(links[target])[0]] > 0
                    assert tokenizer.decode([label[whole]])[0].strip() == aligned


def test_a_corpus_without_weights_counts_fully_and_other_numbers_are_required(data):
    both = f"{data[0]}:1,{data[1]}:1"
    tokenizer, found = batches_of(both, ["weights"])
    for inputs, _, weights in found:
        has_tag = inputs["source"][:, 0] == tokenizer.source.tags["<2xx>"]
        assert (weights[~has_tag] == 1).all()
    with pytest.raises(ValueError, match="needs the column 'length', which a corpus of the data"):
        batches_of(both, ["length"])
    with pytest.raises(ValueError, match="needs the column 'alignments', which the data has not"):
        batches_of(data[1], ["alignments"])


def test_a_changed_column_is_another_input_and_a_damaged_one_is_noticed(data, tmp_path):
    files = columns(tmp_path)
    files["weights"].write_text("1\n" * len(PAIRS))
    with pytest.raises(ValueError, match="Changed: column weights"):
        prepared_in(data[0], ColumnedPairs(Pairs(PAIRS), files), tag="<2xx>")
    store = prepared_in(tmp_path / "damaged", ColumnedPairs(Pairs(PAIRS), files))
    (store / "shard-000000" / "column-weights.npy").write_bytes(b"")
    with pytest.raises(ValueError, match=r"column-weights\.npy does not match its digest"):
        IdStore.read(store)


WRONG = {
    ("weights", "-1"): "line 2: the column 'weights' must be one number of at least 0",
    ("weights", "1 2"): "must be one number of at least 0. Received: '1 2'",
    ("weights", "nan"): "must have nothing but numbers",
    ("weights", "1e39"): r"must have nothing but numbers, up to 3.4e\+38",
    ("alignments", "0-0 1:1"): "must be links such as 0-0 1-2",
    ("alignments", "0-7"): "links word 7 of the target, which has 2 words, counted from 0",
}


@pytest.mark.parametrize(("column", "line"), WRONG)
def test_a_wrong_line_is_named(tmp_path, column, line):
    first = "1" if column == "weights" else ""
    (tmp_path / "file").write_text(f"{first}\n{line}\n")
    source = ColumnedPairs(Pairs([("a b", "c d")] * 2), {column: tmp_path / "file"})
    with pytest.raises(SourceError, match=WRONG[column, line]):
        list(source)


def test_a_column_has_a_line_for_each_pair_and_a_name_of_its_own(tmp_path, kinds):
    (tmp_path / "file").write_text("1\n")
    source = ColumnedPairs(Pairs([("a", "b")] * 3), {"weights": tmp_path / "file"})
    with pytest.raises(SourceError, match="Received: 1 lines for 3 pairs"):
        list(source)
    with pytest.raises(ValueError, match="did you mean 'weights'"):
        ColumnedPairs(source, {"weihgts": tmp_path / "file"})
    with pytest.raises(ValueError, match="but not source or target"):
        ColumnedPairs(source, {"source": tmp_path / "file"})
