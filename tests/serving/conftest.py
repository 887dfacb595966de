import shutil

import pytest
from selenium import webdriver
from support.serving.browsers import set_display


@pytest.fixture(scope="session")
def browser():
    """Chromium without a window. Tests that need it are skipped if it is missing."""
    chromium, driver = (shutil.which(name) for name in ("chromium", "chromedriver"))
    if not (chromium and driver):
        pytest.skip("needs chromium and chromedriver (apt-get install chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        set_display(driver, 1000, 900, "light")
        yield driver
    finally:
        driver.quit()
