"""Compiled loops of releases."""
