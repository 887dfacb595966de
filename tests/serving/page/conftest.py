import pytest
from support.serving.browsers import Page
from support.serving.scripted_server import OPTIONS, scripted


@pytest.fixture
def page(browser):
    return Page(browser)


@pytest.fixture
def server(page):
    """The scripted server of an English-German model with all options, whose page is open."""
    with scripted(OPTIONS, ende="en-de") as server:
        page.open(server.address)
        yield server
