#!/usr/bin/env python3
"""What growing dictionaries are worth: five days of clicks, with a tenth of new users a day.

  launch/experiments/growth.py [--lines=20000] [--users=2000] [--out=DIR] [--FLAG=VALUE ...]

Each day a tenth of the users of the day before is new and as many have left. A model is trained on day 1, goes on
with days 2, 3 and 4, once with `--grow_dictionaries` and once without, and is then measured on day 5: the days'
new users have rows of their own in the one and share the row of rare tokens in the other. Prints the AUC of day 5
of both, and the share of its clicks that are of users whom day 1 did not have.
Other flags go to rowhouse train as they are. DIR is runs/growth. Needs build/release/bin/rowhouse or rowhouse on
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
DAYS = 5


def rowhouse_binary():
    built = ROOT / "build/release/bin/rowhouse"
    found = str(built) if built.exists() else shutil.which("rowhouse")
    return found or sys.exit("growth: no rowhouse in build/release/bin or on the PATH")


def write_days(out, lines, users):
    """Writes day1.csv to day5.csv; returns the share of day 5's lines of users that are not in day 1."""
    rng = random.Random(1)
    taste = {}
    items = [rng.gauss(0, 0.7) for _ in range(200)]
    present, born = list(range(users)), users
    seen_on_day_1, new = set(), 0
    for day in range(1, DAYS + 1):
        if day > 1:
            rng.shuffle(present)
            present = present[users // 10:] + list(range(born, born + users // 10))
            born += users // 10
        with open(out / f"day{day}.csv", "w") as file:
            file.write("user,item,price,click\n")
            for _ in range(lines):
                user = rng.choice(present)
                item = min(int(rng.expovariate(1 / 50)), len(items) - 1)
                liking = taste.setdefault(user, rng.gauss(0, 1.5))
                price = rng.lognormvariate(1, 1)
                click = rng.random() < 1 / (1 + math.exp(0.5 + 0.05 * price - liking - items[item]))
                file.write(f"user{user},item{item},{price:.2f},{int(click)}\n")
                if day == 1:
                    seen_on_day_1.add(user)
                new += day == DAYS and user not in seen_on_day_1
    return new / lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", default=20000, type=int)
    parser.add_argument("--users", default=2000, type=int)
    parser.add_argument("--out", default=ROOT / "runs/growth", type=pathlib.Path)
    given, flags = parser.parse_known_args()
    binary = rowhouse_binary()
    given.out.mkdir(parents=True, exist_ok=True)
    new = write_days(given.out, given.lines, given.users)

    def run(*arguments):
        result = subprocess.run([binary, *arguments], capture_output=True, text=True)
        if result.returncode != 0:
            sys.exit(f"growth: rowhouse {' '.join(arguments)} failed:\n{result.stderr}")
        return result.stdout

    config = given.out / "config.yaml"
    run("data", "infer", str(given.out / "day1.csv"), f"--out={config}")
    aucs = {}
    for grows in (False, True):
        model = given.out / ("grown" if grows else "fixed")
        shutil.rmtree(model, ignore_errors=True)
        run("train", f"--config={config}", f"--data={given.out}/day1.csv", f"--model_dir={model}", *flags)
        for day in range(2, DAYS):
            run("train", "--load", f"--model_dir={model}", f"--data={given.out}/day{day}.csv",
                *(["--grow_dictionaries"] if grows else []), *flags)
        aucs[grows] = json.loads(run("eval", f"--model_dir={model}", f"--data={given.out}/day{DAYS}.csv", "--json"))["auc"]
    print(f"day {DAYS}: {100 * new:.0f} % of the clicks are of users that day 1 did not have")
    print(f"AUC {aucs[False]:.4f} with the dictionaries of day 1, {aucs[True]:.4f} with --grow_dictionaries: {aucs[True] - aucs[False]:+.4f}")


if __name__ == "__main__":
    main()
