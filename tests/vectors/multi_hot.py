# Writes multi_hot.json: the tables of DLRM-v2's multi-hot expansion, by the numpy lines of
# facebookresearch/dlrm, torchrec_dlrm/multi_hot.py (made with numpy 1.24.2). Run it in this directory.
import json

import numpy as np

ROWS = [10, 1, 7, 300, 3, 100003]
SIZES = [3, 2, 1, 4, 6, 3]


def tables(kind):
    np.random.seed(0)
    made = []
    for rows, size in zip(ROWS, SIZES):
        ids = np.arange(rows)[:, np.newaxis]
        if kind == "uniform":
            others = np.random.randint(0, rows, size=(rows, size - 1))
        else:
            others = np.random.pareto(a=0.25, size=(rows, size - 1)).astype(np.int32) % rows
        made.append(np.concatenate((ids, others), axis=-1).astype(np.int32))
    return made


out = {"rows": ROWS, "sizes": SIZES}
for kind in ("uniform", "pareto"):
    # The last rows of each table, and the sum of all its ids.
    out[kind] = [{"last": t[-10:].tolist(), "sum": int(t.sum(dtype=np.int64))} for t in tables(kind)]
with open("multi_hot.json", "w") as file:
    json.dump(out, file)
    file.write("\n")
