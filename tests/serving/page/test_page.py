"""The page at the server's root: with real servers, several models, or an API key."""

import pytest
from selenium.webdriver.common.keys import Keys
from support.serving.in_process_server import serving
from support.serving.scripted_server import OPTIONS, scripted
from support.serving.served_engine import HEADS, LAYERS, EchoEngine

pytestmark = pytest.mark.long
LABELS = "#source-label, #target-label"
MARKUP = "<img src=x onerror=alert(1)>"


def test_the_page_is_used_by_keyboard_and_shows_attention_and_errors(page):
    name, text = "a <b> & c", f"Two dogs sleep {MARKUP}"
    with serving(**{name: EchoEngine()}) as address:
        page.open(address)
        assert [page.driver.title] == [name] == page.texts("#name")

        # The text box has the focus.
        page.press(text)
        page.chord(Keys.CONTROL, Keys.ENTER)
        page.wait(lambda: page.texts(".word"))
        assert page.texts("#translation") == [text]
        words = page.texts(".word text:first-of-type")
        assert words[-1] == "</s>" and words[: len(words) // 2] == words[len(words) // 2 :]
        assert not page.errors()

        # Choose the second translation: tab past three buttons and two texts, then arrow down.
        page.wait(lambda: page.texts(".piece"))
        page.press(*[Keys.TAB] * 6, Keys.ARROW_DOWN)
        page.wait(lambda: page.texts("#translation") == [text + "!"])
        # Its weights replace the words of the first translation.
        page.wait(lambda: page.texts(".word text:first-of-type")[len(words) // 2 - 2][-1] == "!")

        # The last layer is shown. Choose its first head, then a word on the left.
        assert len(page.texts("#layers label")) == LAYERS
        assert len(page.texts("#heads label")) == HEADS + 1
        page.press(Keys.TAB, Keys.TAB, Keys.TAB, Keys.ARROW_DOWN)
        assert page.driver.current_url.endswith("#decoder-cross-2-1")
        page.press(Keys.TAB)
        assert "attends to" in page.driver.switch_to.active_element.get_attribute("aria-label")
        page.press(Keys.ENTER)
        assert page.driver.current_url.endswith("#decoder-cross-2-1-from1")
        assert page.complaints() == []

        for text, message in {
            "  ": "There is nothing to translate",
            "x" * 5000: "has 5,000 bytes; at most 4,000 are allowed",
            "dog " * 300: "at most 256 tokens",  # is translated, but without attention
            "fail": "The server failed to answer this request. The server's log tells the reason.",
        }.items():
            page.fill_in("text", text)
            page.click("#send")
            page.wait(lambda message=message: message in "".join(page.errors()))
    page.fill_in("text", "a b")
    page.click("#send")
    page.wait(lambda: "The server cannot be reached" in "".join(page.errors()))


def test_the_page_of_an_engine_shows_words_and_options(page):
    with serving(en_de=EchoEngine()) as address:
        page.open(address)
        assert page.texts("#target-label") == ["Translation: German"]
        text = "The dog sleeps.\nThe cat sleeps!"
        page.translate(text)
        page.wait(lambda: page.texts(".piece"))
        assert page.texts("#source") == page.texts("#translation") == [text]
        assert page.texts("#source .piece") == text.split()
        page.click("#translation .piece")
        assert page.texts("#readout") == ["“The”: confidence 50 %, aligned with “The”"]
        page.choose("markup", "HTML")
        page.fill_in("glossary", "dog = der Hund")
        page.translate("<p>The dog <b>sleeps</b>.</p>")
        assert page.value("marked") == "<p>der Hund <b>The dog sleeps</b>.</p>"
        assert not page.errors()
        page.fill_in("glossary", "dog = x\ndog = y")
        page.translate("The dog sleeps.")
        assert "“Glossary”, line 2: 'dog' has two translations" in "".join(page.errors())


def ready(page):
    page.wait(lambda: page.texts("#version") == ["version 1"])


def test_the_chosen_model_is_asked_and_languages_can_be_swapped(page):
    models = {"a": "en-de", "b c/%": "de-en", "c": "en-de", "d": "xq-ar", "e": None}
    with scripted(OPTIONS | {"to": ""}, **models) as server:
        page.open(server.address)
        expected = ["English → German (a)", "German → English", "English → German (c)"]
        assert page.texts("#model option") == [*expected, "xq → Arabic", "e"]
        assert page.texts(LABELS) == ["Source: English", "Translation: German"]
        for to, label in [("<2fr>", ": French"), (">>7<<", ""), ("", ": German")]:
            page.fill_in("to", to)
            page.translate("the dog")
            assert page.texts("#target-label") == [f"Translation{label}"]
        assert server.addresses[-1].startswith("/v1/models/a:predict")

        page.click("#swap")
        assert page.texts(LABELS) == ["Source: German", "Translation: English"]
        assert page.value("text") == "der Hund"
        assert not page.shown("answer")
        ready(page)
        page.translate("the cat")
        assert {each for each in server.addresses if "%" in each} == {
            "/v1/models/b%20c%2F%25/metadata",
            "/v1/models/b%20c%2F%25:predict",
        }

        # The answer of the model before is dropped.
        count = len(server.predictions)
        server.answers_wait.clear()
        page.fill_in("text", "the dog")
        page.click("#send")
        page.wait(lambda: len(server.predictions) > count)
        page.choose("model", "e")
        ready(page)
        server.answers_wait.set()
        page.translate("the cat")
        assert page.texts("#translation") == ["der Katze"]
        assert page.texts(LABELS) == ["Source", "Translation"]
        assert not page.shown("swap")

        page.choose("model", "xq → Arabic")
        page.click("#clear")
        assert not page.shown("example")
        page.choose("model", "German → English")
        assert page.shown("example")
        assert page.complaints() == []


def test_a_required_key_is_asked_for_and_kept_for_the_tab(page):
    with scripted(OPTIONS, a="en-de") as server:
        server.key = "s3cret"
        page.driver.get(server.address)
        refused = "This server needs an API key. Enter the API key of this server at the top."
        page.wait(lambda: page.errors() == [refused])
        page.wait(lambda: page.focused() == "key")
        page.press("schlüssel", Keys.ENTER)
        page.wait(lambda: "letters, digits and signs of ASCII" in "".join(page.errors()))
        page.driver.find_element("id", "key").clear()
        page.type("#key", " s3cret ", Keys.ENTER)
        assert page.focused() == "text"
        ready(page)
        assert not page.errors()
        page.translate("the dog")
        assert page.texts("#translation") == ["der Hund"]
        page.driver.refresh()
        ready(page)
        stored = "return [localStorage.length, document.cookie, Object.keys(sessionStorage).length]"
        assert page.run(stored) == [0, "", 1]
        assert not page.errors()
