import gzip

import pytest

pytest.importorskip("apache_beam")

import pipelines.cleaned_text as cleaned_text
import pipelines.prepare as preparation
from pipelines.batch_plan import BatchConfig
from pipelines.beam_prepare import encode_part, prepare_with_beam
from pipelines.data_config import DataConfig
from pipelines.id_store import IdStore, Shard
from pipelines.prepare import prepare
from pipelines.sources import Pairs, TabSeparatedFile, TextFiles
from pipelines.toy_grammar import pairs
from pipelines.vocabulary import VocabularyConfig

# Duplicates within a part and across parts, and something for the other rules.
CORPUS = [*pairs(700), *pairs(100), ("", "leer"), *pairs(3), ("same", "same"), *pairs(50, seed=2)]
# Beam's own direct runner looks for a new version of itself first and warns about what it lacks.
pytestmark = pytest.mark.filterwarnings("ignore")


def contents(folder):
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def config():
    batches = BatchConfig(tokens=1000, max_length=60)
    return DataConfig(vocabulary=VocabularyConfig(size=450), batches=batches)


@pytest.fixture(autouse=True)
def several_parts(monkeypatch):
    monkeypatch.setattr(cleaned_text, "PART", 130)


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
    report = prepare_with_beam(source, files / "beam", config())
    assert report == expected
    assert len(IdStore.read(files / "beam").shards) == 7
    assert contents(files / "beam") == contents(files / "local")
    assert prepare_with_beam(source, files / "beam", config()) == expected


@pytest.mark.parametrize("begun_by", [prepare, prepare_with_beam])
def test_either_goes_on_with_what_the_other_began(files, monkeypatch, begun_by):
    source = TabSeparatedFile(files / "all.tsv")
    expected = prepare(source, files / "expected", config())
    with monkeypatch.context() as patch:
        patch.setattr(preparation, "save_tokenizer", None)
        with pytest.raises(TypeError):
            begun_by(source, files / "data", config())
    other = prepare if begun_by is prepare_with_beam else prepare_with_beam
    assert other(source, files / "data", config()) == expected
    assert contents(files / "data") == contents(files / "expected")


def test_a_part_done_twice_is_as_if_done_once(files):
    prepare(TabSeparatedFile(files / "all.tsv"), files / "data", config())
    part = files / "part-000000"
    for _ in range(2):
        cleaned_text.write_part([("a dog", "ein Hund")], part, {"kept": 1})
    (files / "vocabulary").symlink_to(files / "data" / "vocabulary")
    for _ in range(2):
        encode_part(part, files)
    assert len(IdStore([Shard.read(files / "shard-000000")])) == 1


def test_what_cannot_be_read_in_parts_is_refused(files):
    with pytest.raises(ValueError, match=r"Beam reads files or TFDS.* Received: Pairs"):
        prepare_with_beam(Pairs(CORPUS), files / "beam", config())
    (files / "all.en.gz").write_bytes(gzip.compress((files / "1.en").read_bytes()))
    (files / "1.de").write_bytes((files / "1.en").read_bytes())
    packed = TextFiles(files / "all.en.gz", files / "1.de")
    with pytest.raises(ValueError, match=r"all.en.gz cannot be read in parts: unpack it"):
        prepare_with_beam(packed, files / "beam", config())
