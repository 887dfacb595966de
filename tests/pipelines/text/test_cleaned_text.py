import pytest

from pipelines.text import cleaned_text
from pipelines.text.cleaned_text import (
    EXAMPLES,
    LONGEST,
    DroppedExamples,
    facts_of,
    parts_in,
    sampled_lines,
    write_part,
)
from pipelines.text.cleaning import Judged
from pipelines.tokenizers.vocabulary import VocabularyConfig

PAIRS = [(f"source {n}", f"target {n}") for n in range(200)]


@pytest.fixture
def cleaned(tmp_path, monkeypatch):
    """Three parts with 90 numbered pairs."""
    monkeypatch.setattr(cleaned_text, "PART", 31)
    for index in range(3):
        texts = [(f"s{n} word", f"t{n}") for n in range(30 * index, 30 * index + 30)]
        verdicts = [
            Judged((), pair, None, {"nfc"} if pair[0] == "s7 word" else {}) for pair in texts
        ]
        verdicts.insert(index, Judged((b"a", b"\xff"), ("a", "\ufffd"), "empty"))
        write_part(verdicts, tmp_path, index)
    (tmp_path / "part-000003.abc.unfinished").mkdir()
    return tmp_path


def sample(cleaned, **settings):
    return list(sampled_lines(cleaned, 90, VocabularyConfig(**settings)))


def test_the_facts_about_all_parts_are_joined_and_no_part_is_written_twice(cleaned):
    write_part([], cleaned, 1)
    counts, examples, first = facts_of(cleaned)
    assert counts == {
        **{"read": 93, "kept": 90, "empty": 3, "nfc": 1},
        "words": {"source": 180, "target": 90},
        "characters": {"source": 710, "target": 260},
    }
    assert examples == {"empty": [["a", "\ufffd"]]}
    assert first == {"empty": [1, "'a' and b'\\xff'"]}
    assert [part.name[-1] for part in parts_in(cleaned)] == ["0", "1", "2"]


def test_a_sample_consists_of_pairs_and_depends_on_the_seed(cleaned):
    lines = sample(cleaned, sample_pairs=20)
    sources, targets = lines[:20], lines[20:]
    assert [line.split()[0][1:] for line in sources] == [line[1:] for line in targets]
    assert len(set(sources)) == 20
    assert sample(cleaned, sample_pairs=20) == lines
    assert sample(cleaned, sample_pairs=20, seed=2) != lines
    assert len(sample(cleaned)) == len(sample(cleaned, sample_pairs=90)) == 180


def examples_of(pairs):
    examples = DroppedExamples()
    for pair in pairs:
        examples.add("rule", pair)
    return examples


def test_examples_depend_on_the_pairs_alone_not_on_order_or_division():
    whole = examples_of(PAIRS)
    assert len(whole.pairs()["rule"]) == EXAMPLES
    assert examples_of(reversed(PAIRS + PAIRS)) == whole
    parts = DroppedExamples()
    for first in (100, 0, 150, 50):
        parts.update_with(examples_of(PAIRS[first : first + 50]))
    assert parts == whole
    numbers = [int(source.split()[1]) for source, _ in whole.pairs()["rule"]]
    assert min(numbers) < 60 and max(numbers) > 140, "from the whole corpus"
    (pair,) = examples_of([("x" * 5000, "short")]).pairs()["rule"]
    assert pair == ["x" * LONGEST + "…", "short"]
