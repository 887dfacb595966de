import json

import pytest

from t2t_keras.translating.languages import Languages, languages_in_name, languages_of


@pytest.mark.parametrize(
    ("text", "pair"),
    [("en-de", ("en", "de")), ("pt-BR,EN", ("pt-BR", "en")), ("en,zh_hans", ("en", "zh-Hans"))],
)
def test_two_codes_are_a_pair(text, pair):
    assert Languages.parse(text) == pair


@pytest.mark.parametrize("text", ["", "en", "en-pt-BR", "en,de,fr", "German-English"])
def test_other_texts_are_no_pair(text):
    with pytest.raises(ValueError, match=r"must be given by (their codes|its code)"):
        Languages.parse(text)


def test_records_may_name_the_languages(tmp_path):
    for name in ("config.json", "export.json"):
        assert languages_of(tmp_path) is None
        (tmp_path / name).write_text(json.dumps({"languages": ["EN", "pt_br"]}))
        found = languages_of(tmp_path)
        assert found == ("en", "pt-BR") and found.names == ("English", "Portuguese (BR)")
        for wrong in (None, ["en"], "en", [1, 2]):
            (tmp_path / name).write_text(json.dumps({"languages": wrong}))
            assert languages_of(tmp_path) is None


def test_a_name_may_be_a_pair_of_known_languages():
    assert languages_in_name("opus-mt-en-de") == languages_in_name("EN-de") == ("en", "de")
    assert languages_in_name("opus-mt-tc-big-en-de") == ("en", "de")
    for name in ("ende", "en-de-2", "my-run", "xx-yy", "run.en", "token-de", "to-do-as-is"):
        assert languages_in_name(name) is None
