"""What t2t-import is given, and what a model card and a name say about languages and license."""

import pytest
from support.importing.ctranslate2_folder import random_model, write_folder
from support.importing.loopback_hub import loopback_hub, write_card

from t2t_keras.runs.importing.model_source import (
    codes_in,
    direction,
    find_model,
    languages_line,
    license_of,
)
from t2t_keras.translating.languages import Languages


@pytest.mark.parametrize(
    ("name", "codes", "expected"),
    [
        ("Helsinki-NLP/opus-mt-en-de", [], ("en", "de")),
        ("Helsinki-NLP/opus-mt-tc-big-en-zh", ["en"], ("en", "zh")),
        ("Helsinki-NLP/opus-mt-en-ROMANCE", ["en", "fr", "es"], None),
        ("me/captions.de_en-small", ["en", "de"], ("de", "en")),
        ("me/captions-de-en", [], None),
        ("me/go-to-model", ["en", "de"], None),
        ("me/zh-en", ["zh-Hans", "en"], ("zh", "en")),
    ],
)
def test_the_direction_of_a_model(name, codes, expected):
    assert direction(name, codes) == (expected and Languages(*expected))


def test_licenses_and_languages_of_a_card():
    licenses = ["mit", ["mit", "gpl-3.0"], None, 7, "a\nb", "x" * 81, {}]
    assert [license_of({"license": each}) for each in licenses] == ["mit", "mit", *[None] * 5]
    assert license_of({"license": "other", "license_name": "my-license"}) == "my-license"
    cards = ["en", ["en", "de", "en"], ["multilingual", False, None, "pt_br"], None, {"en": 1}]
    expected = [["en"], ["en", "de"], ["pt-BR"], [], []]
    assert [codes_in({"language": each}) for each in cards] == expected
    assert languages_line(Languages("en", "de"), {}) == "languages: English to German"
    line = languages_line(None, {"language": ["en", "de"]})
    assert line.startswith("languages: English, German, without a direction. --languages=SOURCE")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("Helsinki-NLP/opus-mt-en-de", "not a folder. If you mean .* give hf:Helsinki-NLP/opus-mt"),
        ("https://huggingface.co/a/b/", "not a folder. If you mean the model .* give hf:a/b$"),
        ("hf:a", "is given as hf:ORG/NAME"),
    ],
)
def test_other_forms_of_an_address_are_answered_with_the_right_one(model, message):
    with pytest.raises(ValueError, match=message):
        find_model(model)


def test_a_model_of_the_hub_is_found_with_its_origin(tmp_path, monkeypatch):
    folder = write_card(write_folder(tmp_path / "model", random_model()), license="mit")
    files = [path for path in folder.iterdir() if path.name != "README.md"]
    name, lines = "hf:me/opus-mt-de-en", []
    with loopback_hub() as hub:
        revision = hub.add("me/opus-mt-de-en", folder)
        hub.use(tmp_path / "home", monkeypatch)
        source = find_model(name, show=lines.append)
        given = find_model(name, languages=Languages("fr", "pl"))
        with pytest.raises(ValueError, match="`format` must be one of 'hugging_face', 'ctransla"):
            find_model(name, "nonsense")
        with pytest.raises(ValueError, match=r"`format` must be .* Received: format='argos'"):
            find_model(name, "argos")
        with pytest.raises(ValueError, match="--target_space is not for models of the format ctra"):
            find_model(name, target_space=2)
    assert source.format == "ctranslate2" and source.languages == ("de", "en")
    size = sum(path.stat().st_size for path in files)
    origin = {"hub": "me/opus-mt-de-en", "revision": revision, "license": "mit", "size": size}
    assert source.origin == origin and set(source.files) == {path.name for path in files}
    assert lines[0] == f"hf:me/opus-mt-de-en, revision {revision}: license mit"
    assert lines[1] == "languages: German to English" and given.languages == ("fr", "pl")
