"""The tables of a profile file."""

from __future__ import annotations

__all__ = ["FORMAT", "SINCE_FORMAT_2", "TABLES"]

FORMAT = "2"

TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE topic (label TEXT PRIMARY KEY, documents REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE counted (digest BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE sensitive (label TEXT PRIMARY KEY, sensitivity REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE exposure (
    number INTEGER PRIMARY KEY, upstream TEXT NOT NULL, time TEXT NOT NULL, query TEXT NOT NULL,
    delta REAL NOT NULL, risk REAL NOT NULL, union_risk REAL NOT NULL);
CREATE INDEX exposure_by_upstream ON exposure (upstream, time);
CREATE TABLE exposed (
    exposure INTEGER NOT NULL REFERENCES exposure (number) ON DELETE CASCADE, label TEXT NOT NULL,
    PRIMARY KEY (exposure, label)) WITHOUT ROWID;
"""

SINCE_FORMAT_2 = """
CREATE TABLE document (
    number INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, time TEXT NOT NULL,
    query TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
    features BLOB NOT NULL, topics BLOB NOT NULL);
CREATE INDEX document_by_time ON document (time);
CREATE TABLE told (
    upstream TEXT NOT NULL, label TEXT NOT NULL, last TEXT NOT NULL,
    PRIMARY KEY (upstream, label)) WITHOUT ROWID;
CREATE TABLE together (upstream TEXT PRIMARY KEY, circle TEXT NOT NULL) WITHOUT ROWID;
"""
