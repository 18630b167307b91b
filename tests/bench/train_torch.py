#!/usr/bin/python3
"""Steps of DLRM in PyTorch, as a yardstick of `rowhouse bench train`, which starts this.

MLPs, EmbeddingBag (sparse gradients), dot interaction, SGD; the model that the flags say, on ids made before it
is timed. Prints a JSON list with {threads, median_ms, cpu_ms} for one thread and for two. Debian's packages:
python3-torch and libopenblas0-pthread. Without OpenBLAS torch multiplies ten times slower, and with a serial build of
it on one thread: then it refuses.
"""
import argparse
import ctypes
import json
import os
import re
import statistics
import sys
import time

# OpenBLAS 0.3.21 takes a CPU that is younger for a Prescott, and multiplies four times slower.
with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
    flags_of_cpu = cpuinfo.read()
if "avx2" in flags_of_cpu:
    os.environ.setdefault("OPENBLAS_CORETYPE", "SkylakeX" if "avx512f" in flags_of_cpu else "Haswell")
try:
    import torch
except ImportError as error:
    sys.exit(f"PyTorch is not installed ({error}): apt-get install python3-torch libopenblas0-pthread")

WARM_STEPS = 3  # before those that are timed


def open_blas():
    """The libraries that torch multiplies with, or refuses: Debian's OpenBLAS has a copy for each interface.

    Debian has three builds of it, and a serial one is no yardstick with two threads.
    """
    torch.mm(torch.ones(64, 64), torch.ones(64, 64))
    paths = set(re.findall(r"\S*openblas\S*$", open("/proc/self/maps", encoding="utf-8").read(), re.M))
    libraries = [library for library in map(ctypes.CDLL, paths) if hasattr(library, "openblas_set_num_threads")]
    if not libraries:
        sys.exit("PyTorch multiplies without OpenBLAS, ten times slower: apt-get install libopenblas0-pthread")
    if not all(library.openblas_get_parallel() for library in libraries):
        sys.exit("PyTorch multiplies with OpenBLAS's serial build, on one thread: apt-get install libopenblas0-pthread")
    return libraries


def sizes(text):
    return [int(part) for part in text.split("-")]


def ids_of(rows, count, exponent):
    """Zipf's law by inverting its integral, hot rows all over the table; exponent 0: even."""
    if exponent == 0:
        return torch.randint(0, rows, (count,))
    power = 1 - exponent
    rank = ((torch.rand(count, dtype=torch.float64) * ((rows + 1.0) ** power - 1) + 1) ** (1 / power)).long() - 1
    return rank.clamp(max=rows - 1) * 2654435761 % rows


class Dlrm(torch.nn.Module):
    def __init__(self, bottom, top, rows):
        super().__init__()
        dim = bottom[-1]
        self.tables = torch.nn.ModuleList()
        for count in rows:
            weight = torch.empty(count, dim).uniform_(-0.05, 0.05)
            self.tables.append(torch.nn.EmbeddingBag(count, dim, mode="sum", sparse=True, _weight=weight))
        vectors = len(rows) + 1
        self.pairs = torch.tril_indices(vectors, vectors, offset=-1)
        self.bottom = self.mlp(bottom, torch.nn.ReLU())
        self.top = self.mlp([dim + self.pairs.shape[1]] + top, torch.nn.Sigmoid())

    @staticmethod
    def mlp(widths, last):
        layers = []
        for fan_in, fan_out in zip(widths, widths[1:]):
            layers += [torch.nn.Linear(fan_in, fan_out), torch.nn.ReLU()]
        layers[-1] = last
        return torch.nn.Sequential(*layers)

    def forward(self, dense, ids, offsets):
        x = self.bottom(dense)
        vectors = torch.stack([x] + [table(i, offsets) for table, i in zip(self.tables, ids)], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.pairs[0], self.pairs[1]]], dim=1)).squeeze(1)


def main():
    parser = argparse.ArgumentParser()
    for name in ("mlp_bot", "mlp_top", "embedding_size"):
        parser.add_argument("--arch_" + name, type=sizes, required=True)
    parser.add_argument("--arch_sparse_feature_size", type=int)
    parser.add_argument("--loss_function", choices=("bce", "mse"), required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--bag", type=int, default=1)
    parser.add_argument("--zipf", type=float, default=0)
    parser.add_argument("--steps", type=int, default=15, help="timed for each number of threads")
    flags = parser.parse_args()
    blas = open_blas()

    batches = []
    for _ in range(flags.steps + WARM_STEPS):
        ids = [ids_of(rows, flags.batch * flags.bag, flags.zipf) for rows in flags.arch_embedding_size]
        dense = torch.randn(flags.batch, flags.arch_mlp_bot[0])
        batches.append((dense, ids, (torch.rand(flags.batch) < 0.25).float()))
    offsets = torch.arange(0, flags.batch * flags.bag, flags.bag)
    model = Dlrm(flags.arch_mlp_bot, flags.arch_mlp_top, flags.arch_embedding_size)
    loss_of = torch.nn.BCELoss() if flags.loss_function == "bce" else torch.nn.MSELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    results = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for library in blas:
            library.openblas_set_num_threads(threads)
        times = []
        for step, (dense, ids, labels) in enumerate(batches):
            if step == WARM_STEPS:
                cpu = time.process_time()
            begin = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            loss_of(model(dense, ids, offsets), labels).backward()
            optimizer.step()
            times.append(time.perf_counter() - begin)
        results.append({"threads": threads, "median_ms": 1e3 * statistics.median(times[WARM_STEPS:]),
                        "cpu_ms": 1e3 * (time.process_time() - cpu) / flags.steps})
    print(json.dumps(results))


main()
