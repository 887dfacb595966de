from collections import Counter

import pytest

from pipelines.text.cleaned_text import parts_in, sampled_lines, shard_of, total_counts, write_part
from pipelines.tokenizers.vocabulary import VocabularyConfig


@pytest.fixture
def cleaned(tmp_path):
    """Three parts with 90 numbered pairs."""
    for index in range(3):
        pairs = [(f"s{n} word", f"t{n}") for n in range(30 * index, 30 * index + 30)]
        write_part(pairs, tmp_path / f"part-00000{index}", Counter(read=31, kept=30, empty=1))
    (tmp_path / "part-000003.abc.unfinished").mkdir()
    return tmp_path


def sample(cleaned, **settings):
    return list(sampled_lines(cleaned, 90, VocabularyConfig(**settings)))


def test_the_counts_of_all_parts_are_added_and_no_part_is_written_twice(cleaned):
    write_part([("a", "b")], cleaned / "part-000001", Counter(read=1))
    assert total_counts(cleaned) == {
        **{"read": 93, "kept": 90, "empty": 3},
        "words": {"source": 180, "target": 90},
        "characters": {"source": 710, "target": 260},
    }
    assert [part.name[-1] for part in parts_in(cleaned)] == ["0", "1", "2"]
    assert shard_of(parts_in(cleaned)[1], cleaned).name == "shard-000001"


def test_a_sample_consists_of_pairs_and_depends_on_the_seed(cleaned):
    lines = sample(cleaned, sample_pairs=20)
    sources, targets = lines[:20], lines[20:]
    assert [line.split()[0][1:] for line in sources] == [line[1:] for line in targets]
    assert len(set(sources)) == 20
    assert sample(cleaned, sample_pairs=20) == lines
    assert sample(cleaned, sample_pairs=20, seed=2) != lines
    assert len(sample(cleaned)) == len(sample(cleaned, sample_pairs=90)) == 180
