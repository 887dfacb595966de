"""The page at the server's root, in a real browser."""

import shutil

import pytest
from commands import running
from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait
from served_model import HEADS, LAYERS, write_version

CHROMIUM, DRIVER = (shutil.which(name) for name in ("chromium", "chromedriver"))
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="needs chromium and chromedriver (apt-get install chromium-driver)",
)
MARKUP = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        set_display(driver, 1000, 900, "light")
        yield driver
    finally:
        driver.quit()


def set_display(driver, width, height, scheme):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    preferred = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", preferred)


@pytest.fixture(scope="module")
def server(backwards_export, tmp_path_factory):
    """A running server of a model with an unusual name, and its address."""
    folder = tmp_path_factory.mktemp("page") / "a <b> & c"
    folder.symlink_to(backwards_export.parent)
    with running("serve", folder, "--port=0", f"--name={folder.name}") as process:
        yield process, process.line().split()[-1]


def texts(driver, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
    return driver.execute_script(script, selector)


def wait(driver, condition):
    return WebDriverWait(driver, 30).until(lambda _: condition())


def test_the_page_translates_and_shows_attention_by_keyboard_alone(browser, server, tmp_path):
    _, address = server

    def press(*keys):
        webdriver.ActionChains(browser).send_keys(*keys).perform()

    def errors():
        return texts(browser, ".error:not([hidden])")

    browser.get(address)
    wait(browser, lambda: texts(browser, "#version") == ["version 1"])
    assert browser.title == "a <b> & c" == texts(browser, "h1")[0].removesuffix("version 1")

    # The text box has the focus.
    press(f"Wonderful birds sing {MARKUP}", Keys.ENTER)
    source = ["Wonderful", "birds", "sing", *MARKUP.split()]
    written = ["v1:", *reversed(source)]
    wait(browser, lambda: texts(browser, ".word"))
    assert texts(browser, "#translation") == [" ".join(written)]
    assert len(texts(browser, "#translations label")) == 4
    assert texts(browser, "#translations b") == ["−0.100", "−0.200", "−0.300", "−0.400"]
    words = texts(browser, ".word text:first-of-type")
    assert words == [*written, "</s>", *source, "</s>"]
    assert not errors()
    browser.save_screenshot(tmp_path / "light.png")

    # Choose the second translation: tab past the button to the list, then arrow down.
    press(Keys.TAB, Keys.TAB, Keys.ARROW_DOWN)
    wait(browser, lambda: texts(browser, "#translation") == [" ".join(written) + "!"])
    wait(browser, lambda: "Wonderful!" in texts(browser, ".word text:first-of-type"))

    # Choose the last layer and its first head, then a word on the left.
    assert len(texts(browser, "#layers label")) == LAYERS
    assert len(texts(browser, "#heads label")) == HEADS + 1
    press(Keys.TAB, Keys.TAB, Keys.ARROW_UP, Keys.TAB, Keys.ARROW_DOWN)
    assert browser.current_url.endswith("#decoder-cross-2-1")
    lines = "return document.querySelectorAll('.lines line:not([style*=none])').length"
    all_lines = browser.execute_script(lines)
    press(Keys.TAB)
    assert 0 < browser.execute_script(lines) < all_lines
    label = browser.switch_to.active_element.get_attribute("aria-label")
    assert label.startswith("v1: attends to Wonderful")
    press(Keys.ENTER)
    assert browser.current_url.endswith("#decoder-cross-2-1-from1")

    for name, display in {"dark": (1000, 900, "dark"), "narrow": (375, 800, "light")}.items():
        set_display(browser, *display)
        browser.save_screenshot(tmp_path / f"{name}.png")
        assert browser.execute_script("return document.body.scrollWidth <= innerWidth")
    set_display(browser, 1000, 900, "light")
    assert browser.get_log("browser") == [], "no errors and no violations of the content policy"
    assert browser.title == "a <b> & c"


def test_a_model_that_only_translates_has_a_page_without_attention(browser, tmp_path):
    (tmp_path / "export").mkdir()
    write_version(tmp_path / "export", 1, signatures=["serving_default"])
    with running("serve", tmp_path, "--port=0") as process:
        browser.get(process.line().split()[-1])
        wait(browser, lambda: texts(browser, "#version") == ["version 1"])
        browser.find_element("id", "text").send_keys("a b\n")
        wait(browser, lambda: texts(browser, "#translation") == ["v1: b a"])
        assert texts(browser, "#translations i") == ["v1: b a"]
        assert not browser.find_element("id", "attention").is_displayed()


def test_the_page_shows_errors_in_plain_words(browser, server):
    process, address = server

    def ask(text):
        box = browser.find_element("id", "text")
        browser.execute_script("arguments[0].value = arguments[1]", box, text)
        browser.find_element("css selector", "button").click()

    def expect(words):
        wait(browser, lambda: any(words in text for text in texts(browser, ".error:not([hidden])")))

    browser.get(address)
    wait(browser, lambda: texts(browser, "#version") == ["version 1"])
    ask("  ")
    expect("There is nothing to translate")
    ask("x" * 5000)
    expect("has 5,000 bytes; at most 4,000 are allowed")
    ask("word " * 150)  # is translated, but too long for attention
    expect("at most 500 are allowed")
    assert len(texts(browser, "#translations label")) == 4
    ask("this will fail")
    expect("The server failed to answer this request")
    process.stop()
    ask("a b")
    expect("The server cannot be reached")
