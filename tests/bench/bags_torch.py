#!/usr/bin/python3
"""Pooled lookups by PyTorch's embedding_bag, as a yardstick of `rowhouse bench bags_torch`, which starts this.

Sums of bags of K rows of DIM floats, drawn evenly from a table, on one thread, for each shape KxDIM that the arguments
say. Each is measured in several forms: ids in two dimensions, or in one with offsets; of 64 bits, or of 32; as many
bags a call as --out_floats says, or 2048. Prints a JSON list with {form, wall_ns_per_row, cpu_ns_per_row}: of the
fastest form, the medians of samples. Debian's package: python3-torch.
"""
import argparse
import itertools
import json
import statistics
import sys
import time

try:
    import torch
except ImportError as error:
    sys.exit(f"PyTorch is not installed ({error}): apt-get install python3-torch")

SAMPLES = 9
SAMPLED_BYTES = 8 << 20
BATCH = 2048


def measure(table, k, bags, ids_type, has_offsets):
    rows, dim = table.shape
    calls = SAMPLED_BYTES // (bags * k * dim * 4) + 1
    ids = torch.randint(0, rows, ((SAMPLES + 1) * calls, bags, k), dtype=ids_type)
    offsets = torch.arange(0, bags * k, k, dtype=ids_type) if has_offsets else None
    batches = (ids.flatten(1) if has_offsets else ids).unbind()
    wall, cpu = [], []
    for first in range(0, len(batches), calls):
        begin_wall, begin_cpu = time.perf_counter(), time.thread_time()
        for batch in batches[first:first + calls]:
            torch.nn.functional.embedding_bag(batch, table, offsets, mode="sum")
        cpu.append((time.thread_time() - begin_cpu) * 1e9 / (calls * bags * k))
        wall.append((time.perf_counter() - begin_wall) * 1e9 / (calls * bags * k))
    # The first sample warmed up.
    return {"form": f"{str(ids_type)[6:]}, {bags} bags a call, {'offsets' if has_offsets else 'two dimensions'}",
            "wall_ns_per_row": statistics.median(wall[1:]), "cpu_ns_per_row": statistics.median(cpu[1:])}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--floats", type=int, required=True, help="of the table")
    parser.add_argument("--out_floats", type=int, required=True, help="of the sums of a call")
    parser.add_argument("shapes", nargs="+", help="KxDIM")
    flags = parser.parse_args()
    torch.set_num_threads(1)
    floats = torch.full((flags.floats,), 0.5)
    results = []
    for shape in flags.shapes:
        k, dim = map(int, shape.split("x"))
        forms = itertools.product((flags.out_floats // dim, BATCH), (torch.int64, torch.int32), (False, True))
        measured = [measure(floats.view(-1, dim), k, *form) for form in forms]
        results.append(min(measured, key=lambda one: one["cpu_ns_per_row"]))
    print(json.dumps(results))


main()
