import pytest
from support.serving.browsers import open_page
from support.serving.scripted_server import OPTIONS, scripted


@pytest.fixture
def server(browser):
    """The scripted server of an English-German model with all options, whose page is open."""
    with scripted(OPTIONS, ende="en-de") as server:
        open_page(browser, server.address)
        yield server
