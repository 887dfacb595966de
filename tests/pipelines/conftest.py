import pytest
from support.text.small_corpus import CORPUS, PART, config

import pipelines.preparation.prepare as preparation
import pipelines.text.cleaned_text as cleaned_text
from pipelines.preparation.prepare import prepare
from pipelines.text.sources import Pairs
from pipelines.tokenizers.vocabulary import learn


@pytest.fixture(scope="module")
def small_parts():
    """Cuts the corpus into small parts, and learns each vocabulary only once."""
    learned = {}

    def learn_once(texts, config, normalization, folder):
        key = repr((texts := list(texts), config, normalization))
        if key not in learned:
            learned[key] = learn(texts, config, normalization, folder)
        return learned[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleaned_text, "PART", PART)
        patch.setattr(preparation, "learn", learn_once)
        yield


@pytest.fixture(scope="module")
def prepared(small_parts, tmp_path_factory):
    """A prepared folder, and its report."""
    folder = tmp_path_factory.mktemp("data") / "toy"
    return folder, prepare(Pairs(CORPUS), folder, config())
