import importlib
import sys
import textwrap

import pytest
import tensorflow_datasets as tfds

from pipelines.text.sources import SourceError
from pipelines.text.tfds_source import TfdsPairs

pytestmark = pytest.mark.filterwarnings("ignore")

BUILDER = """
    import tensorflow_datasets as tfds

    class Phrasebook(tfds.core.GeneratorBasedBuilder):
        VERSION = tfds.core.Version("1.0.0")

        def _info(self):
            return tfds.core.DatasetInfo(
                builder=self,
                features=tfds.features.Translation(languages=("de", "en")),
                supervised_keys=("de", "en"),
            )

        def _split_generators(self, dl_manager):
            return {"train": self._generate_examples(25), "validation": self._generate_examples(3)}

        def _generate_examples(self, count):
            for number in range(count):
                yield number, {"de": f"Satz {number} ü", "en": f"Sentence {number}"}
"""


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    """A folder of prepared data sets with one that its own module has built."""
    folder = tmp_path_factory.mktemp("tfds")
    (folder / "phrasebook.py").write_text(textwrap.dedent(BUILDER))
    sys.path.insert(0, str(folder))
    try:
        module = importlib.import_module("phrasebook")
        module.Phrasebook(data_dir=folder / "data").download_and_prepare()
        yield folder / "data"
    finally:
        sys.path.remove(str(folder))


@pytest.fixture
def source(data_dir):
    return TfdsPairs("tfds:phrasebook", ["en", "de"], data_dir=data_dir)


def test_a_prepared_data_set_is_found_by_name_by_folder_and_by_builder(data_dir, source):
    assert set(source) == {(f"Sentence {n}".encode(), f"Satz {n} ü".encode()) for n in range(25)}
    builder = tfds.builder("phrasebook", data_dir=data_dir)
    for found in (source, TfdsPairs(data_dir / "phrasebook" / "1.0.0", ["en", "de"])):
        assert list(found) == list(source)
    assert list(TfdsPairs(builder, ("en", "de"))) == list(source)


def test_languages_and_splits_can_be_chosen(data_dir, source):
    default_order = TfdsPairs("phrasebook", data_dir=data_dir)
    assert set(default_order) == {(german, english) for english, german in source}
    for split, count in {"validation": 3, "train[:7]": 7, "train+validation": 28}.items():
        assert len(list(TfdsPairs("phrasebook", split=split, data_dir=data_dir))) == count


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no_such_set",), "TFDS has no data set 'no_such_set'"),
        (("phrasebook", ["en", "fr"]), "two of phrasebook/1.0.0's features: de, en. .*: en,fr"),
        (("phrasebook", ["en"]), "two of phrasebook/1.0.0's features: .* Received: en"),
        (("phrasebook", None, "test"), "has no split 'test'.* It has: train, validation"),
    ],
)
def test_wrong_arguments_are_refused_by_name(data_dir, arguments, message):
    with pytest.raises(SourceError, match=message):
        list(TfdsPairs(*arguments, data_dir=data_dir))


def test_the_error_for_a_failed_download_suggests_solutions(source, monkeypatch):
    def fail():
        raise ConnectionError("the mirror is down")

    monkeypatch.setattr(source.builder, "download_and_prepare", fail)
    message = (
        "could not prepare phrasebook/1.0.0: ConnectionError: the mirror is down.*one sentence"
    )
    with pytest.raises(SourceError, match=message):
        list(source)
