# SPDX-License-Identifier: Apache-2.0
"""Reads an HDF5 file of stoker's with h5py and NumPy alone and prints, as JSON, what is in it. Run by
test_hdf5_pack.py under several Pythons, each with its own h5py and HDF5.

    python h5py_digest.py FILE
"""

import hashlib
import json
import sys

import h5py
import numpy as np


def digest(data):
    return hashlib.sha256(np.ascontiguousarray(data).tobytes()).hexdigest()


def main():
    out = {"h5py": h5py.version.version, "hdf5": h5py.version.hdf5_version, "records": [], "columns": {}}
    with h5py.File(sys.argv[1], "r") as f:
        out["labels"] = f["labels"][:].tolist()
        out["classes"] = [c.decode() if isinstance(c, bytes) else c for c in f.attrs["class_names"]]
        out["metadata"] = json.loads(f.attrs["metadata"])
        if "images" in f:
            images = f["images"]
            out["shape"], out["chunks"] = list(images.shape), list(images.chunks)
            out["compression"] = images.compression
            whole = images[:]
            assert np.array_equal(whole[: len(whole) // 2], images[: len(whole) // 2])
            out["records"] = [digest(image) for image in whole]
        else:
            data, offset, length = f["data"], f["offset"][:], f["length"][:]
            out["contiguous"] = data.chunks is None
            out["records"] = [digest(data[o : o + n]) for o, n in zip(offset.tolist(), length.tolist())]
            out["width"], out["height"] = f["width"][:].tolist(), f["height"][:].tolist()
            out["encoding"] = f["encoding"][:].tolist()
        for name in f:
            d = f[name]
            if name not in ("images", "data") and d.ndim == 1 and not name.startswith("tables_") and len(d) < 100000:
                values = d[:]
                if values.dtype.kind in "SO":
                    values = [v.decode("utf-8", "surrogateescape") if isinstance(v, bytes) else v for v in values]
                else:
                    values = values.tolist()
                out["columns"][name] = values
    json.dump(out, sys.stdout)


main()
