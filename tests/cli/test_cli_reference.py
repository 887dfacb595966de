"""The reference pages are made from the code."""

import pytest
from support.text.reference_pages import PAGES, ROOT, written


@pytest.mark.parametrize("name", PAGES)
def test_a_reference_page_says_what_the_code_says(name):
    """If it fails: PYTHONPATH=.:tests .venv/bin/python -m support.text.reference_pages."""
    assert (ROOT / name).read_text(encoding="utf-8") == written(name)
