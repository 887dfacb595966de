"""The page at the server's root, in a real browser."""

import pytest
from selenium.webdriver.common.keys import Keys
from support.processes.commands import running
from support.serving.browsers import (
    chord,
    complaints,
    errors,
    fill_in,
    open_page,
    press,
    set_display,
    texts,
    translate,
    wait,
)
from support.serving.served_model import HEADS, LAYERS, write_version

MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def server(backwards_export, tmp_path_factory):
    """A running server of a model with an unusual name, and its address."""
    folder = tmp_path_factory.mktemp("page") / "a <b> & c"
    folder.symlink_to(backwards_export.parent)
    with running("serve", folder, "--port=0", f"--name={folder.name}") as process:
        yield process, process.line().split()[-1]


@pytest.mark.long
def test_the_page_translates_and_shows_attention_by_keyboard_alone(browser, server, tmp_path):
    _, address = server

    open_page(browser, address)
    assert [browser.title] == ["a <b> & c"] == texts(browser, "#name")

    # The text box has the focus.
    press(browser, f"Wonderful birds sing {MARKUP}")
    chord(browser, Keys.CONTROL, Keys.ENTER)
    source = ["Wonderful", "birds", "sing", *MARKUP.split()]
    written = ["v1:", *reversed(source)]
    wait(browser, lambda: texts(browser, ".word"))
    assert texts(browser, "#translation") == [" ".join(written)]
    assert len(texts(browser, "#translations label")) == 4
    assert texts(browser, "#translations b") == ["−0.100", "−0.200", "−0.300", "−0.400"]
    words = texts(browser, ".word text:first-of-type")
    assert words == [*written, "</s>", *source, "</s>"]
    assert not errors(browser)
    browser.save_screenshot(tmp_path / "light.png")

    # Choose the second translation: tab past three buttons to the list, then arrow down.
    press(browser, Keys.TAB, Keys.TAB, Keys.TAB, Keys.TAB, Keys.ARROW_DOWN)
    wait(browser, lambda: texts(browser, "#translation") == [" ".join(written) + "!"])
    wait(browser, lambda: "Wonderful!" in texts(browser, ".word text:first-of-type"))

    # The last layer is shown. Choose its first head, then a word on the left.
    assert len(texts(browser, "#layers label")) == LAYERS
    assert len(texts(browser, "#heads label")) == HEADS + 1
    press(browser, Keys.TAB, Keys.TAB, Keys.TAB, Keys.ARROW_DOWN)
    assert browser.current_url.endswith("#decoder-cross-2-1")
    lines = "return document.querySelectorAll('.lines line:not([style*=none])').length"
    all_lines = browser.execute_script(lines)
    press(browser, Keys.TAB)
    assert 0 < browser.execute_script(lines) < all_lines
    label = browser.switch_to.active_element.get_attribute("aria-label")
    assert label.startswith("v1: attends to Wonderful")
    press(browser, Keys.ENTER)
    assert browser.current_url.endswith("#decoder-cross-2-1-from1")

    for name, display in {"dark": (1000, 900, "dark"), "narrow": (375, 800, "light")}.items():
        set_display(browser, *display)
        browser.save_screenshot(tmp_path / f"{name}.png")
        assert browser.execute_script("return document.body.scrollWidth <= innerWidth")
    set_display(browser, 1000, 900, "light")
    assert complaints(browser) == []
    assert browser.title == "a <b> & c"


@pytest.mark.long
def test_a_model_that_only_translates_has_a_page_without_attention(browser, tmp_path):
    (tmp_path / "export").mkdir()
    write_version(tmp_path / "export", 1, signatures=["serving_default"])
    with running("serve", tmp_path, "--port=0") as process:
        open_page(browser, process.line().split()[-1])
        translate(browser, "a b")
        assert texts(browser, "#translation") == ["v1: b a"]
        assert texts(browser, "#translations i") == ["v1: b a"]
        assert not browser.find_element("id", "attention").is_displayed()


@pytest.mark.long
def test_the_page_shows_errors_in_plain_words(browser, server):
    process, address = server

    def ask(text):
        fill_in(browser, "text", text)
        browser.find_element("id", "send").click()

    def expect(words):
        wait(browser, lambda: any(words in text for text in errors(browser)))

    open_page(browser, address)
    ask("  ")
    expect("There is nothing to translate")
    ask("x" * 5000)
    expect("has 5,000 bytes; at most 4,000 are allowed")
    ask("word " * 150)  # is translated, but too long for attention
    expect("at most 500 are allowed")
    assert len(texts(browser, "#translations label")) == 4
    ask("this will fail")
    expect("The server failed to answer this request. The server's log tells the reason.")
    process.stop()
    ask("a b")
    expect("The server cannot be reached")
