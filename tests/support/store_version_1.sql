-- A store of version 1, as the first heddle with a store made it. Never to be changed.
PRAGMA application_id = 1751413620;
PRAGMA user_version = 1;
CREATE TABLE project (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE series (id INTEGER PRIMARY KEY, project INTEGER NOT NULL REFERENCES project(id), tool TEXT NOT NULL, target TEXT NOT NULL, settings TEXT NOT NULL, UNIQUE (project, tool, target, settings)) STRICT;
CREATE TABLE trace (id INTEGER PRIMARY KEY, path TEXT NOT NULL, hash TEXT NOT NULL, bytes INTEGER NOT NULL, build TEXT, UNIQUE (hash, path)) STRICT;
CREATE TABLE run (id INTEGER PRIMARY KEY AUTOINCREMENT, series INTEGER NOT NULL REFERENCES series(id), started INTEGER NOT NULL, version TEXT NOT NULL, format TEXT NOT NULL, build TEXT, trace INTEGER REFERENCES trace(id), status INTEGER NOT NULL, events INTEGER NOT NULL, threads INTEGER NOT NULL, findings INTEGER NOT NULL) STRICT;
CREATE INDEX run_series ON run (series);
CREATE TABLE run_kind (run INTEGER NOT NULL REFERENCES run(id), kind TEXT NOT NULL, candidates INTEGER NOT NULL, whole INTEGER NOT NULL, PRIMARY KEY (run, kind)) STRICT, WITHOUT ROWID;
CREATE TABLE finding (id INTEGER PRIMARY KEY, project INTEGER NOT NULL REFERENCES project(id), fingerprint TEXT NOT NULL, kind TEXT NOT NULL, first_run INTEGER NOT NULL REFERENCES run(id), last_run INTEGER NOT NULL REFERENCES run(id), body TEXT NOT NULL, UNIQUE (project, fingerprint)) STRICT;
CREATE TABLE sighting (finding INTEGER NOT NULL REFERENCES finding(id), run INTEGER NOT NULL REFERENCES run(id), verdict TEXT NOT NULL, harm TEXT NOT NULL, instances INTEGER NOT NULL, hidden INTEGER NOT NULL, PRIMARY KEY (finding, run)) STRICT, WITHOUT ROWID;
CREATE INDEX sighting_run ON sighting (run);
INSERT INTO project VALUES (1, 'default');
INSERT INTO series VALUES (1, 1, 'predict', './app', '');
INSERT INTO trace VALUES (1, 'app.hdt', '00112233445566778899aabbccddeeff', 4096, 'b1');
INSERT INTO run VALUES (1, 1, 1700000000, '0.1.0', 'binary', 'b1', 1, 1, 100, 3, 1);
INSERT INTO run_kind VALUES (1, 'race', 5, 1);
INSERT INTO finding VALUES (1, 1, 'f1', 'race', 1, 1, '{"kind": "race", "verdict": "feasible", "fingerprint": "f1", "instances": 1, "variable": "x", "events": []}');
INSERT INTO sighting VALUES (1, 1, 'feasible', 'itself', 1, 0);
