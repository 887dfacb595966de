import gzip

import numpy as np
import pytest

pytest.importorskip("apache_beam")

from pipelines.batch_plan import BatchConfig
from pipelines.beam_prepare import prepare_with_beam
from pipelines.id_store import IdStore
from pipelines.prepare import DataConfig, prepare
from pipelines.sources import Pairs, TabSeparatedFile, TextFiles
from pipelines.tokenizers import load_tokenizer
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import VocabularyConfig

# Duplicates within a part and across parts, and something for the other rules.
CORPUS = [*pairs(700), *pairs(100), ("", "leer"), *pairs(3), ("same", "same"), *pairs(50, seed=2)]
# Beam's own direct runner looks for a new version of itself first and warns about what it lacks.
pytestmark = pytest.mark.filterwarnings("ignore")


def config():
    batches = BatchConfig(tokens=1000, max_length=60)
    return DataConfig(vocabulary=VocabularyConfig(size=450), batches=batches)


@pytest.fixture
def files(tmp_path):
    half = len(CORPUS) // 2
    for name, part in (("1", CORPUS[:half]), ("2", CORPUS[half:])):
        (tmp_path / f"{name}.en").write_text("".join(f"{s}\n" for s, _ in part))
    (tmp_path / "all.de").write_text("".join(f"{t}\n" for _, t in CORPUS))
    (tmp_path / "all.tsv").write_text("".join(f"{s}\t{t}\n" for s, t in CORPUS))
    return tmp_path


@pytest.mark.parametrize("kind", ["two files", "one file"])
def test_beam_makes_the_same_store(files, kind):
    if kind == "two files":
        source = TextFiles(files / "*.en", files / "all.de")
    else:
        source = TabSeparatedFile(files / "all.tsv")
    expected = prepare(source, files / "local", config())
    report = prepare_with_beam(source, files / "beam", config(), chunk=130)
    assert report == expected
    ours, theirs = IdStore.read(files / "beam"), IdStore.read(files / "local")
    assert len(ours.shards) == 7
    np.testing.assert_array_equal(ours.lengths, theirs.lengths)
    for side in ("source", "target"):
        np.testing.assert_array_equal(
            *(store.gather(side, range(len(store)), 40) for store in (ours, theirs))
        )
    models = [load_tokenizer(files / run / "vocabulary").model for run in ("beam", "local")]
    assert models[0] == models[1]
    assert prepare_with_beam(source, files / "beam", config(), chunk=130) == expected


def test_what_cannot_be_read_in_parts_is_refused(files):
    with pytest.raises(ValueError, match=r"Beam reads files or TFDS.* Received: Pairs"):
        prepare_with_beam(Pairs(CORPUS), files / "beam", config())
    (files / "all.en.gz").write_bytes(gzip.compress((files / "1.en").read_bytes()))
    (files / "1.de").write_bytes((files / "1.en").read_bytes())
    packed = TextFiles(files / "all.en.gz", files / "1.de")
    with pytest.raises(ValueError, match=r"all.en.gz cannot be read in parts: unpack it"):
        prepare_with_beam(packed, files / "beam", config())
