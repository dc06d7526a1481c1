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
    packing succeeds."""

    def __init__(self, fn: Callable[[dict[str, Any]], Any], version: str, path: str) -> None:
        self._fn, self._version, self._path = fn, version.encode(), path
        self._waiting = 0
        self._db: Optional[sqlite3.Connection] = None
        self.hits = 0
        try:
            # A Writer may be used by one thread after the other.
            self._db = sqlite3.connect(path, timeout=1.0, check_same_thread=False)
            self._db.execute("CREATE TABLE IF NOT EXISTS results (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        except sqlite3.Error as error:
            self._give_up(error)

    def __call__(self, sample: dict[str, Any]) -> Any:
        key = self._key(sample)
        value = self._get(key)
        if value is not None:
            self.hits += 1
            return _samples.load(value)
        result = _samples.as_dict(self._fn(sample))
        self._put(key, _samples.dump(result))
        return result

    def close(self) -> None:
        """Writes what waits."""
        if self._db is not None:
            try:
                self._db.commit()
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
            self._waiting += 1
            if self._waiting >= _BATCH:
                self._db.commit()
                self._waiting = 0
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: sqlite3.Error) -> None:
        warnings.warn(f"{os.fspath(self._path)}: the cache of map= results is not used: {error}", stacklevel=4)
        self._db = None
