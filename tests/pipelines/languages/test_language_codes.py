import pytest

from pipelines.languages.language_codes import language_name, language_of_files, normalized


@pytest.mark.parametrize(
    ("code", "normal", "name"),
    [
        ("DE", "de", "German"),
        ("pt_br", "pt-BR", "Portuguese (BR)"),
        ("ZH-hant", "zh-Hant", "Chinese (Traditional)"),
        ("zh_hans_cn", "zh-Hans-CN", "Chinese (Simplified, CN)"),
        ("ceb", "ceb", "ceb"),
    ],
)
def test_codes_have_a_normal_form_and_a_name(code, normal, name):
    assert normalized(code) == normal
    assert language_name(code) == name


@pytest.mark.parametrize("code", ["", "German", "d", "de-", "d\u0435", "en de", None, 5, ["de"]])
def test_other_texts_are_no_codes(code):
    with pytest.raises(ValueError, match="must be given by its code, such as en, de or pt-BR"):
        normalized(code)


@pytest.mark.parametrize(
    ("path", "language"),
    [
        ("data.fr/train.en", "en"),
        ("train.pt_BR.txt.xz", "pt-BR"),
        ("train.tok.bpe.de", "de"),
        ("train.en.tok", "en"),
        ("train.src", None),  # three letters, but no language that has a name
        ("train.xx", None),
    ],
)
def test_files_are_named_after_their_language(path, language):
    assert language_of_files([path, path]) == language
    assert language_of_files([path, "b.fr"]) is None
