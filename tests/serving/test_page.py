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


@pytest.fixture
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    try:
        look_as(driver, 1000, 900, "light")
        yield driver
    finally:
        driver.quit()


def look_as(driver, width, height, scheme):
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    preferred = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", preferred)


@pytest.fixture
def server(tmp_path):
    """A running server, and its address."""
    export = tmp_path / "a <b> & c" / "export"
    export.mkdir(parents=True)
    write_version(export, 1)
    with running("serve", export.parent, "--port=0") as process:
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

    def trouble():
        return texts(browser, ".trouble:not([hidden])")

    browser.get(address)
    wait(browser, lambda: texts(browser, "#version") == ["version 1"])
    assert browser.title == "a <b> & c" == texts(browser, "h1")[0].removesuffix("version 1")

    # The text box has the focus from the beginning.
    press(f"Wonderful birds sing {MARKUP}", Keys.ENTER)
    source = ["Wonderful", "birds", "sing", *MARKUP.split()]
    written = ["v1:", *reversed(source)]
    wait(browser, lambda: texts(browser, ".word"))
    assert texts(browser, "#translation") == [" ".join(written)]
    assert len(texts(browser, "#translations label")) == 4
    assert texts(browser, "#translations b") == ["−0.100", "−0.200", "−0.300", "−0.400"]
    words = texts(browser, ".word text:first-of-type")
    assert words == [*written, "</s>", *source, "</s>"]
    assert not trouble()
    browser.save_screenshot(tmp_path / "light.png")

    # Another translation: tab goes past the button to the list, arrow keys through it.
    press(Keys.TAB, Keys.TAB, Keys.ARROW_DOWN)
    wait(browser, lambda: texts(browser, "#translation") == [" ".join(written) + "!"])
    wait(browser, lambda: "Wonderful!" in texts(browser, ".word text:first-of-type"))

    # The last layer, and of its heads the first; a word that is looked from.
    assert len(texts(browser, "#layers label")) == LAYERS
    assert len(texts(browser, "#heads label")) == HEADS + 1
    press(Keys.TAB, Keys.TAB, Keys.ARROW_UP, Keys.TAB, Keys.ARROW_DOWN)
    assert browser.current_url.endswith("#decoder-cross-2-1")
    lines = "return document.querySelectorAll('.lines line:not([style*=none])').length"
    everything = browser.execute_script(lines)
    press(Keys.TAB)
    assert 0 < browser.execute_script(lines) < everything
    label = browser.switch_to.active_element.get_attribute("aria-label")
    assert label.startswith("v1: looks at Wonderful")
    press(Keys.ENTER)
    assert browser.current_url.endswith("#decoder-cross-2-1-from1")

    for name, look in {"dark": (1000, 900, "dark"), "narrow": (375, 800, "light")}.items():
        look_as(browser, *look)
        browser.save_screenshot(tmp_path / f"{name}.png")
        assert browser.execute_script("return document.body.scrollWidth <= innerWidth")
    assert browser.get_log("browser") == []  # no errors, and nothing that its policy forbids
    assert browser.title == "a <b> & c"


def test_the_page_says_what_is_wrong(browser, server):
    process, address = server

    def ask(text):
        box = browser.find_element("id", "text")
        browser.execute_script("arguments[0].value = arguments[1]", box, text)
        browser.find_element("css selector", "button").click()

    def told(words):
        wait(
            browser, lambda: any(words in text for text in texts(browser, ".trouble:not([hidden])"))
        )

    browser.get(address)
    wait(browser, lambda: texts(browser, "#version") == ["version 1"])
    ask("  ")
    told("There is nothing to translate yet")
    ask("x" * 5000)
    told("has 5,000 bytes; at most 4,000 are taken")
    ask("word " * 150)  # which is translated, only without attention
    told("at most 500 are taken")
    assert len(texts(browser, "#translations label")) == 4
    ask("this will fail")
    told("The server could not answer this request")
    process.stop()
    ask("a b")
    told("The server can not be reached")


def test_a_model_that_only_translates_has_a_page_too(browser, tmp_path):
    (tmp_path / "export").mkdir()
    write_version(tmp_path / "export", 1, signatures=["serving_default"])
    with running("serve", tmp_path, "--port=0") as process:
        browser.get(process.line().split()[-1])
        wait(browser, lambda: texts(browser, "#version") == ["version 1"])
        browser.find_element("id", "text").send_keys("a b\n")
        wait(browser, lambda: texts(browser, "#translation") == ["v1: b a"])
        assert texts(browser, "#translations i") == ["v1: b a"]
        assert not browser.find_element("id", "attention").is_displayed()
