"""Glossaries: source phrases and their translations, from TSV, CSV and TBX files."""
