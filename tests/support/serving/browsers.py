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


class Page:
    """A server's web page in a browser, whose methods do what a user does."""

    def __init__(self, driver):
        self.driver = driver

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def click(self, selector):
        self.all(selector)[0].click()

    def type(self, selector, *keys):
        self.all(selector)[0].send_keys(*keys)

    def texts(self, selector):
        """Returns the texts of the elements that a selector finds."""
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
        return self.run(script, selector)

    def wait(self, condition):
        """Waits until a function returns something true, and returns it."""
        return WebDriverWait(self.driver, 30, poll_frequency=0.05).until(lambda _: condition())

    def press(self, *keys):
        webdriver.ActionChains(self.driver).send_keys(*keys).perform()

    def chord(self, modifier, key):
        """Presses a key while a modifier such as Keys.CONTROL is held."""
        actions = webdriver.ActionChains(self.driver)
        actions.key_down(modifier).send_keys(key).key_up(modifier).perform()

    def value(self, name):
        return self.driver.find_element("id", name).get_property("value")

    def shown(self, name):
        return self.driver.find_element("id", name).is_displayed()

    def focused(self):
        """Returns the id of the element with the focus."""
        return self.driver.switch_to.active_element.get_attribute("id")

    def choose(self, name, text):
        """Selects an option of a field, which may be among the hidden options of a text."""
        self.run("document.getElementById('options').open = true")
        Select(self.driver.find_element("id", name)).select_by_visible_text(text)

    def errors(self):
        """Returns the texts of the errors that the page shows."""
        return self.texts(".error:not([hidden])")

    def complaints(self):
        """Returns the errors and the violations of the content policy in the browser's log."""
        log = self.driver.get_log("browser")
        found = [each["message"] for each in log if each["level"] == "SEVERE"]
        # A server without API keys may not have this address.
        return [each for each in found if "/frontend/settings - Failed to load" not in each]

    def open(self, address):
        """Opens a server's page with an empty log and waits until it knows the model."""
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get(address)
        self.wait(lambda: self.texts("#version") == ["version 1"])

    def fill_in(self, name, text):
        """Gives a field a value at once, as pasting does, and focuses it."""
        script = "const field = document.getElementById(arguments[0]); field.value = arguments[1]; "
        script += "field.focus(); field.dispatchEvent(new Event('input', { bubbles: true }))"
        self.run(script, name, text)

    def translate(self, text):
        """Sends a text to a server's page and waits until its translation or an error is shown."""
        self.fill_in("text", text)
        self.chord(Keys.CONTROL, Keys.ENTER)
        self.wait(lambda: self.texts("#state") == [""])
