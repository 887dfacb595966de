"""Divides texts with HTML or XML into segments to translate and markup to keep unchanged."""
