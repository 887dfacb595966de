"""Documents of many kinds as lists of units to translate; see `document.py`."""

from pipelines.documents.document import DocumentError, Options, Unit
from pipelines.documents.kinds import SUFFIXES, read_document

__all__ = ["SUFFIXES", "DocumentError", "Options", "Unit", "read_document"]
