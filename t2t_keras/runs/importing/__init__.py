"""Runs made from models of other systems."""
