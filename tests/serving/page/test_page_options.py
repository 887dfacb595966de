"""The page offers the options of a text, each if the model has it."""

import pytest
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from support.serving.browsers import errors, open_page, press, set_display, texts, translate, wait
from support.serving.scripted_server import OPTIONS, SEARCH, scripted

SENTENCE = "the dog sees the cat"
TRANSLATION = "der Hund sieht der Katze"
FIELDS = {"beam", "n_best", "alpha", "split", "markup", "prefix", "require", "glossary"}


@pytest.fixture
def server(browser):
    """The server of a model with all options, whose page is open with the options shown."""
    with scripted(OPTIONS) as server:
        open_page(browser, server.address)
        assert not browser.find_element("id", "fields").is_displayed()
        browser.find_element("css selector", "summary").click()
        yield server


def fill(browser, name, text):
    """Fills in the field of an option."""
    field = browser.find_element("id", name)
    if field.tag_name == "select":
        Select(field).select_by_visible_text(text)
    else:
        field.clear()
        field.send_keys(text)


def value(browser, name):
    return browser.find_element("id", name).get_property("value")


def requested(server):
    """Returns the newest request for translations."""
    searches = [each for each in server.predictions if each[0].startswith("translate")]
    signature, row = [each for each in searches if "confidence" not in each[1]][-1]
    return signature, {name: each for name, each in row.items() if name != "text"}


def shown_fields(browser):
    return {name for name in FIELDS if browser.find_element("id", name).is_displayed()}


def test_without_changed_options_the_request_is_the_plain_one(browser, server):
    assert shown_fields(browser) == FIELDS
    assert [value(browser, name) for name in ("beam", "n_best", "alpha")] == ["4", "4", "0.6"]
    translate(browser, SENTENCE)
    assert requested(server) == ("translate_n_best", {})


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "text", "changed"),
    [
        ("beam", "2", {"beam": 2, "n_best": 2}),
        ("n_best", "3", {"n_best": 3}),
        ("alpha", "1.25", {"alpha": 1.25, "n_best": 4}),
        ("split", "all as one", {"split": False, "n_best": 4}),
        ("split", "one by one", {"split": True, "n_best": 4}),
        ("markup", "XML", {"markup": "xml", "n_best": 4}),
        ("prefix", " Heute ", {"prefix": "Heute", "n_best": 4}),
        ("require", "guter Hund\n\nHaus ", {"require": "guter Hund\tHaus", "n_best": 4}),
        ("glossary", "a dog = guter Hund\nx = a=b", {"glossary": "a dog\tguter Hund\nx\ta=b"}),
    ],
)
def test_a_changed_option_is_sent_with_the_number_of_translations(
    browser, server, name, text, changed
):
    fill(browser, name, text)
    translate(browser, SENTENCE)
    assert requested(server) == ("translate_with_options", {"n_best": 4} | changed)
    assert texts(browser, "#changed") == ["2 changed" if name == "beam" else "1 changed"]
    assert len(texts(browser, "#translations label")) == changed.get("n_best", 4)
    browser.find_element("id", "reset").click()
    translate(browser, SENTENCE)
    assert requested(server) == ("translate_n_best", {})
    assert texts(browser, "#changed") == [""]


def test_a_glossary_can_be_pasted_with_tabs(browser, server):
    field = browser.find_element("id", "glossary")
    browser.execute_script("arguments[0].value = 'a = b\\tc = d\\n\\tx\\ty'", field)
    translate(browser, SENTENCE)
    assert requested(server)[1]["glossary"] == "a = b\tc = d\nx\ty"


def test_wrong_options_are_named_before_anything_is_sent(browser, server):
    for name, wrong, message in [
        ("beam", "5", "Beam width: "),
        ("n_best", "", "Translations: "),
        ("alpha", "-1", "Length penalty α: "),
        ("glossary", "dog Hund", "line “dog Hund” must have a source phrase, “=” or a tab, and"),
        ("glossary", "dog =", "line “dog =” must have"),
    ]:
        fill(browser, name, wrong)
        browser.execute_script("document.getElementById('options').open = false")
        translate(browser, SENTENCE)
        assert message in "".join(errors(browser))
        assert browser.switch_to.active_element.get_attribute("id") == name
        browser.find_element("id", "reset").click()
    assert not server.predictions


def test_the_beam_width_bounds_the_number_of_translations(browser, server):
    fill(browser, "beam", "3")
    assert value(browser, "n_best") == "3"
    fill(browser, "n_best", "4")
    browser.find_element("id", "beam").click()
    assert value(browser, "n_best") == "3"


def test_errors_of_the_server_name_the_fields(browser, server):
    server.refused[SENTENCE] = "`beam` must be 4 for a text with `require`. Received: `x`"
    translate(browser, SENTENCE)
    expected = "“Beam width” must be 4 for a text with “Required phrases”. Received: `x`"
    assert errors(browser) == [expected]
    assert not browser.find_element("id", "answer").is_displayed()
    assert texts(browser, "#translation") == [""]


def test_enter_in_a_field_translates_and_in_a_text_area_begins_a_line(browser, server):
    browser.find_element("id", "text").send_keys(SENTENCE)
    fill(browser, "glossary", "a = b\n")
    assert not server.predictions
    fill(browser, "prefix", "Heute\n")
    wait(browser, lambda: texts(browser, "#translation") == ["Heute" + TRANSLATION])


@pytest.mark.parametrize(
    ("options", "fields"),
    [(None, set()), (SEARCH, {"beam", "n_best", "alpha", "split"}), (OPTIONS, FIELDS)],
)
def test_the_page_offers_what_the_model_has(browser, options, fields):
    with scripted(options) as server:
        open_page(browser, server.address)
        assert browser.find_element("id", "options").is_displayed() == bool(fields)
        browser.execute_script("document.getElementById('options').open = true")
        assert shown_fields(browser) == fields
        translate(browser, SENTENCE)
        wait(browser, lambda: texts(browser, ".word"))
        asked = {"translate_n_best", "attention"}
        if options is OPTIONS:
            asked.add("translate_with_options")
            wait(browser, lambda: texts(browser, ".piece"))
        assert {signature for signature, _ in server.predictions} == asked
        assert texts(browser, "#translation") == [TRANSLATION]
        assert browser.find_element("id", "details").is_displayed() == (options is OPTIONS)


def test_options_can_be_used_with_the_keyboard(browser, server):
    browser.find_element("css selector", "summary").click()  # closed again
    browser.find_element("id", "text").send_keys(SENTENCE)
    press(browser, Keys.TAB, Keys.TAB, Keys.ENTER, Keys.TAB)
    assert browser.switch_to.active_element.get_attribute("id") == "beam"
    press(browser, Keys.ARROW_DOWN, Keys.ENTER)
    wait(browser, lambda: server.predictions)
    assert requested(server) == ("translate_with_options", {"beam": 3, "n_best": 3})


def test_all_fields_have_labels_and_fit_on_a_phone(browser, server):
    unlabeled = "return [...document.querySelectorAll('#request :is(input, select, textarea)')]"
    unlabeled += ".filter((field) => field.labels.length !== 1).length"
    assert browser.execute_script(unlabeled) == 0
    set_display(browser, 360, 800, "light")
    translate(browser, SENTENCE)
    wait(browser, lambda: texts(browser, ".piece"))
    assert browser.execute_script("return document.body.scrollWidth <= innerWidth")
    set_display(browser, 1000, 900, "light")
