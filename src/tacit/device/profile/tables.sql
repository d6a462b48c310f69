CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE topic (label TEXT PRIMARY KEY, documents REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE sensitive (label TEXT PRIMARY KEY, sensitivity REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE exposure (
    number INTEGER PRIMARY KEY, upstream TEXT NOT NULL, time TEXT NOT NULL, query TEXT NOT NULL,
    risk REAL NOT NULL);
CREATE INDEX exposure_by_upstream ON exposure (upstream, time);
CREATE TABLE exposed (
    exposure INTEGER NOT NULL REFERENCES exposure (number) ON DELETE CASCADE, label TEXT NOT NULL,
    PRIMARY KEY (exposure, label)) WITHOUT ROWID;
CREATE TABLE document (
    number INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, time TEXT NOT NULL,
    query TEXT NOT NULL, url TEXT NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL,
    features BLOB NOT NULL, topics BLOB NOT NULL, concept INTEGER NOT NULL);
CREATE INDEX document_by_time ON document (time);
