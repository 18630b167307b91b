#!/usr/bin/env python3
"""A wide part on clicks whose effects just add up: a logistic regression, and models without and with one.

  launch/experiments/wide.py [--lines=10000,20000,50000] [--seeds=123,124,125] [--out=DIR] [--FLAG=VALUE ...]

Makes clicks by a logistic model over the ids of 16 columns; the logit is a sum, so no model can be better than the
best logistic regression. Prints the AUC on the last fifth of the lines: of the truth (the
probabilities that the clicks were drawn by), of `rowhouse data baseline`, and of the config that `rowhouse data
infer` writes, without and with `wide: true`, as means over the seeds of the model.
Other flags go to rowhouse train as they are. DIR is runs/wide. Needs build/release/bin/rowhouse or rowhouse on
the PATH. About a minute on 2 cores.
"""
import argparse
import json
import math
import pathlib
import random
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROWS = [2, 3, 5, 8, 12, 20, 30, 50, 80, 120, 200, 300, 500, 800, 1200, 2000]  # of each column


def rowhouse_binary():
    built = ROOT / "build/release/bin/rowhouse"
    found = str(built) if built.exists() else shutil.which("rowhouse")
    return found or sys.exit("wide: no rowhouse in build/release/bin or on the PATH")


def write_clicks(path, lines, seed):
    """Writes a CSV; returns each line's probability and click."""
    rng = random.Random(seed)
    effects = [[rng.gauss(0, 0.5) for _ in range(rows)] for rows in ROWS]
    drawn = []
    with open(path, "w") as out:
        out.write(",".join([*(f"c{k}" for k in range(len(ROWS))), "click"]) + "\n")
        for _ in range(lines):
            # Small ids are frequent.
            ids = [min(int(rows * rng.random() ** 2), rows - 1) for rows in ROWS]
            p = 1 / (1 + math.exp(1 - sum(of_column[i] for of_column, i in zip(effects, ids))))
            click = int(rng.random() < p)
            drawn.append((p, click))
            out.write(",".join([*(f"v{i}" for i in ids), str(click)]) + "\n")
    return drawn


def auc(drawn):
    order = sorted(drawn)
    ranks = sum(i + 1 for i, (_, click) in enumerate(order) if click)
    ones = sum(click for _, click in order)
    return (ranks - ones * (ones + 1) / 2) / (ones * (len(order) - ones))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", default="10000,20000,50000")
    parser.add_argument("--seeds", default="123,124,125")
    parser.add_argument("--out", default=str(ROOT / "runs/wide"), type=pathlib.Path)
    given, flags = parser.parse_known_args()
    binary = rowhouse_binary()
    given.out.mkdir(parents=True, exist_ok=True)

    def run(*arguments):
        result = subprocess.run([binary, *arguments], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"wide: rowhouse {' '.join(arguments)} failed:\n{result.stderr}")
        return result.stdout

    print(f"{'lines':>8} {'truth':>8} {'baseline':>9} {'deep':>8} {'wide':>8} {'wide - baseline':>16}")
    for lines in map(int, given.lines.split(",")):
        data, config = given.out / f"clicks-{lines}.csv", given.out / f"clicks-{lines}.yaml"
        drawn = write_clicks(data, lines, seed=1)
        run("data", "infer", str(data), f"--out={config}")
        split = [f"--config={config}", "--test_fraction=0.2"]
        baseline = json.loads(run("data", "baseline", str(data), *split, "--json"))["auc"]
        means = []
        for wide in ("false", "true"):
            values = []
            for seed in given.seeds.split(","):
                report = given.out / "report.json"
                run("train", *split, f"--data={data}", f"--wide={wide}", f"--numpy_rand_seed={seed}",
                    f"--report={report}", *flags)
                values.append(json.loads(report.read_text())["evaluations"][-1]["auc"])
            means.append(sum(values) / len(values))
        truth = auc(drawn[len(drawn) - len(drawn) // 5:])
        print(f"{lines:8} {truth:8.4f} {baseline:9.4f} {means[0]:8.4f} {means[1]:8.4f} {means[1] - baseline:+16.4f}", flush=True)


if __name__ == "__main__":
    main()
