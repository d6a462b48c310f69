CREATE TABLE IF NOT EXISTS page_sent (
    number INTEGER PRIMARY KEY, engine TEXT NOT NULL, time TEXT NOT NULL, exposure INTEGER,
    address TEXT NOT NULL, bytes BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS page_sent_by_time ON page_sent (time);
CREATE INDEX IF NOT EXISTS page_sent_by_exposure ON page_sent (exposure);
CREATE TABLE IF NOT EXISTS page_query (
    query TEXT PRIMARY KEY, time TEXT NOT NULL, times INTEGER NOT NULL, asked TEXT NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS page_forgets_entry AFTER DELETE ON exposure BEGIN
    DELETE FROM page_sent WHERE exposure = old.number;
    DELETE FROM page_query WHERE asked = old.query AND asked NOT IN (SELECT query FROM exposure);
END;
CREATE TRIGGER IF NOT EXISTS page_forgets_period AFTER INSERT ON forgotten_period BEGIN
    DELETE FROM page_sent WHERE time >= new.since AND time <= new.until;
    DELETE FROM page_query WHERE time >= new.since AND time <= new.until;
END;
