"""What tests of web pages do with a browser."""

from selenium import webdriver
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
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
    return WebDriverWait(driver, 30, poll_frequency=0.05).until(lambda _: condition())


def press(driver, *keys):
    webdriver.ActionChains(driver).send_keys(*keys).perform()


def chord(driver, modifier, key):
    """Presses a key while a modifier such as Keys.CONTROL is held."""
    actions = webdriver.ActionChains(driver)
    actions.key_down(modifier).send_keys(key).key_up(modifier).perform()


def value(driver, name):
    return driver.find_element("id", name).get_property("value")


def shown(driver, name):
    return driver.find_element("id", name).is_displayed()


def focused(driver):
    """Returns the id of the element with the focus."""
    return driver.switch_to.active_element.get_attribute("id")


def choose(driver, name, text):
    """Selects an option of a field, which may be among the hidden options of a text."""
    driver.execute_script("document.getElementById('options').open = true")
    Select(driver.find_element("id", name)).select_by_visible_text(text)


def errors(driver):
    """Returns the texts of the errors that the page shows."""
    return texts(driver, ".error:not([hidden])")


def complaints(driver):
    """Returns the errors and the violations of the content policy in the browser's log."""
    found = [each["message"] for each in driver.get_log("browser") if each["level"] == "SEVERE"]
    # A server without API keys may not have this address.
    return [message for message in found if "/frontend/settings - Failed to load" not in message]


def open_page(driver, address):
    """Opens a server's page with an empty log and waits until it knows the model."""
    driver.get("about:blank")
    driver.get_log("browser")
    driver.get(address)
    wait(driver, lambda: texts(driver, "#version") == ["version 1"])


def fill_in(driver, name, text):
    """Gives a field a value at once, as pasting does, and focuses it."""
    script = "const field = document.getElementById(arguments[0]); field.value = arguments[1]; "
    script += "field.focus(); field.dispatchEvent(new Event('input', { bubbles: true }))"
    driver.execute_script(script, name, text)


def translate(driver, text):
    """Sends a text to a server's page and waits until its translation or an error is shown."""
    fill_in(driver, "text", text)
    chord(driver, Keys.CONTROL, Keys.ENTER)
    wait(driver, lambda: texts(driver, "#state") == [""])
