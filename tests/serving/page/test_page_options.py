"""The page offers the options of a text, each if the model has it."""

import pytest
from support.serving.scripted_server import OPTIONS, scripted

SENTENCE = "the dog sees the cat"


def requested(server):
    """Returns the newest request for translations: its signature and options."""
    signature, row = [
        each
        for each in server.predictions
        if each[0].startswith("translate") and "confidence" not in each[1]
    ][-1]
    return signature, {name: each for name, each in row.items() if name != "text"}


def reset(page):
    page.click("#reset")


@pytest.mark.long
def test_changed_options_are_sent_with_the_number_of_translations(page, server):
    assert not page.shown("fields")
    page.click("summary")
    assert [page.value(name) for name in ("beam", "n_best", "alpha")] == ["4", "4", "0.6"]
    for name, text, changed in [
        ("beam", "2", {"beam": 2, "n_best": 2}),
        ("alpha", "1.25", {"alpha": 1.25}),
        ("split", "all as one", {"split": False}),
        ("markup", "XML", {"markup": "xml"}),
        ("prefix", " Heute ", {"prefix": "Heute"}),
        ("require", "guter Hund\n\nHaus ", {"require": "guter Hund\tHaus"}),
        ("glossary", "a dog = Hund\nx = a=b", {"glossary": "a dog\tHund\nx\ta=b"}),
        ("glossary", "a = b\tc = d\n\tx\ty", {"glossary": "a = b\tc = d\nx\ty"}),
    ]:
        if name in ("split", "markup"):
            page.choose(name, text)
        else:
            page.fill_in(name, text)
        assert page.texts("#changed") == ["2 changed" if name == "beam" else "1 changed"]
        page.translate(SENTENCE)
        assert requested(server) == ("translate_with_options", {"n_best": 4} | changed)
        assert len(page.texts("#translations label")) == changed.get("n_best", 4)
        reset(page)
    page.translate(SENTENCE)
    assert requested(server) == ("translate_n_best", {})
    assert page.texts("#changed") == [""]


@pytest.mark.long
def test_wrong_options_are_named_before_and_after_they_are_sent(page, server):
    for name, wrong, message in [
        ("beam", "5", "Beam width: "),
        ("n_best", "", "Translations: "),
        ("alpha", "-1", "Length penalty α: "),
        ("glossary", "dog Hund", "line “dog Hund” must have a source phrase, “=” or a tab, and"),
        ("glossary", "dog =", "line “dog =” must have"),
    ]:
        page.fill_in(name, wrong)
        page.run("document.getElementById('options').open = false")
        page.translate(SENTENCE)
        assert message in "".join(page.errors())
        assert page.focused() == name
        reset(page)
    assert not server.predictions
    server.refused[SENTENCE] = "`beam` must be 4 for a text with `require`. Received: `x`"
    page.translate(SENTENCE)
    expected = "“Beam width” must be 4 for a text with “Required phrases”. Received: `x`"
    assert page.errors() == [expected]
    assert not page.shown("answer")


@pytest.mark.long
def test_an_option_that_the_page_does_not_know_gets_a_field(page):
    with scripted(OPTIONS | {"top_k": 5}, ende="en-de") as server:
        page.open(server.address)
        page.click("summary")
        assert page.value("top_k") == "5"
        page.fill_in("top_k", "3")
        page.translate(SENTENCE)
        assert requested(server) == ("translate_with_options", {"n_best": 4, "top_k": 3})
