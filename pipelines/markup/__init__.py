"""Texts with HTML or XML, divided into segments to translate and markup that stays as it is."""

from pipelines.markup.marked_text import Document as Document
