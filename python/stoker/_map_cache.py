# SPDX-License-Identifier: Apache-2.0
"""Results of a Writer's map=, kept in an SQLite file and found again by content and version."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import warnings
from collections.abc import Mapping
from typing import Any, Callable, Optional

from stoker import _samples

# Results written at a time: a killed run loses at most so many.
_BATCH = 64


class MapCache:
    """fn(sample), looked up first. A cache that fails is left alone, with one warning: it never decides whether
    packing succeeds. At its end results go that were not used for longest, until it has max_bytes: each run has a
    number, and notes it for the results that it used."""

    def __init__(self, fn: Callable[[dict[str, Any]], Any], version: str, path: str, max_bytes: int) -> None:
        self._fn, self._version, self._path, self._max_bytes = fn, version.encode(), path, max_bytes
        self._run = 1
        self._used: list[bytes] = []  # keys to be noted with the next commit
        self._db: Optional[sqlite3.Connection] = None
        self.hits = 0
        try:
            # A Writer may be used by one thread after the other.
            self._db = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
            self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file: so that it can shrink
            self._db.execute("CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
            self._db.execute("CREATE TABLE IF NOT EXISTS uses (key BLOB PRIMARY KEY, run INTEGER) WITHOUT ROWID")
            self._run = int(self._db.execute("SELECT coalesce(max(run), 0) + 1 FROM uses").fetchone()[0])
        except sqlite3.Error as error:
            self._give_up(error)

    def __call__(self, sample: dict[str, Any]) -> Any:
        key = self._key(sample)
        value = self._get(key)
        if value is not None:
            self.hits += 1
            self._note(key)
            return _samples.load(value)
        result = _samples.as_dict(self._fn(sample))
        self._put(key, _samples.dump(result))
        return result

    def close(self) -> None:
        """Writes what waits, and removes what is too much."""
        if self._db is not None:
            try:
                self._commit()
                self._trim(self._db)
                self._db.close()
            except sqlite3.Error as error:
                self._give_up(error)
        self._db = None

    def _key(self, sample: Mapping[str, Any]) -> bytes:
        content = _samples.dump(sample, follow_paths=True)
        return hashlib.blake2b(content, digest_size=32, key=hashlib.blake2b(self._version).digest()).digest()

    def _get(self, key: bytes) -> Optional[bytes]:
        if self._db is None:
            return None
        try:
            row = self._db.execute("SELECT value FROM results WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            self._give_up(error)
            return None
        return None if row is None else bytes(row[0])

    def _put(self, key: bytes, value: bytes) -> None:
        if self._db is None:
            return
        try:
            self._db.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (key, value))
        except sqlite3.Error as error:
            self._give_up(error)
        self._note(key)

    def _note(self, key: bytes) -> None:
        if self._db is None:
            return
        self._used.append(key)
        if len(self._used) < _BATCH:
            return
        try:
            self._commit()
        except sqlite3.Error as error:
            self._give_up(error)

    def _commit(self) -> None:
        assert self._db is not None
        self._db.executemany("INSERT OR REPLACE INTO uses VALUES (?, ?)", ((key, self._run) for key in self._used))
        self._used.clear()
        self._db.commit()

    def _trim(self, db: sqlite3.Connection) -> None:
        page, pages, free = (
            int(db.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_size", "page_count", "freelist_count")
        )
        excess = (pages - free) * page - self._max_bytes
        if excess <= 0:
            return
        excess += self._max_bytes // 10  # so that not every run ends with this
        gone = []
        for key, n_bytes in db.execute(
            "SELECT key, length(value) FROM results LEFT JOIN uses USING (key) ORDER BY coalesce(run, 0), key"
        ):
            if excess <= 0:
                break
            gone.append((key,))
            excess -= n_bytes
        for table in ("results", "uses"):
            db.executemany(f"DELETE FROM {table} WHERE key = ?", gone)
        db.commit()
        db.executescript("PRAGMA incremental_vacuum")  # execute() gives one page back, and no more

    def _give_up(self, error: sqlite3.Error) -> None:
        warnings.warn(f"{os.fspath(self._path)}: the cache of map= results is not used: {error}", stacklevel=4)
        self._db = None
