"""What tests of web pages do with a browser."""

from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait


def set_display(driver, width, height, scheme):
    """Sets the size of the window and the preferred color scheme, "light" or "dark"."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    preferred = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", preferred)


def texts(driver, selector):
    """Returns the texts of the elements that a selector finds."""
    script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
    return driver.execute_script(script, selector)


def wait(driver, condition):
    """Waits until a function returns something true, and returns it."""
    return WebDriverWait(driver, 30).until(lambda _: condition())


def press(driver, *keys):
    webdriver.ActionChains(driver).send_keys(*keys).perform()


def errors(driver):
    """Returns the texts of the errors that the page shows."""
    return texts(driver, ".error:not([hidden])")


def open_page(driver, address):
    """Opens a server's page with an empty log and waits until it knows the model."""
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get(address)
    wait(driver, lambda: texts(driver, "#version") == ["version 1"])


def translate(driver, text):
    """Sends a text to a server's page and waits until its translation or an error is shown."""
    script = "const box = document.getElementById('text'); box.value = arguments[0]; box.focus()"
    driver.execute_script(script, text)
    press(driver, Keys.ENTER)
    wait(driver, lambda: texts(driver, "#state") == [""])
