#!/usr/bin/python3
"""What an untouched config of `rowhouse data infer` is worth: on each data set a model of it is
trained on the first three quarters and tested on the last, beside a logistic regression over hashed
tokens (2^20 buckets, the best C of 0.03, 0.1 and 0.3). Fails where Rowhouse's test AUC is more than
0.005 below; prints both.

usage: infer_wins.py ROWHOUSE DIRECTORY_OF_THE_SOURCES [CRITEO_FILE ...]

Three data sets are made here: the clicks of docs/your_data.md with ids of 64 bits, an additive one
with three bags, and one whose label needs the product of two columns. Files of Criteo's are used
where they are named, or lie in the directory $ROWHOUSE_CRITEO. Exits with 77 without scikit-learn."""
import csv
import json
import math
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import scipy.sparse
    from sklearn.feature_extraction import FeatureHasher
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
except ImportError as missing:
    print("skipped:", missing)
    sys.exit(77)

MARGIN = 0.005
TEST_SHARE = 0.25


def make_clicks(path, sources):
    """The clicks of docs/your_data.md, whose users are numbers of 64 bits."""
    page = open(os.path.join(sources, "docs/your_data.md"), encoding="utf-8").read()
    script = page.split("<<'END'\n")[1].split("    END\n")[0]
    script = "".join(line[4:] for line in script.splitlines(keepends=True))
    assert '"user%d" % i' in script
    script = script.replace('"user%d" % i', "str((i + 1) * 0x9E3779B97F4A7C15 % 2**64)")
    with open(path, "w", encoding="utf-8") as out:
        subprocess.run([sys.executable, "-c", script, "100000", "1"], stdout=out, check=True)


def make_bags(path, lines, bags, pair, seed):
    """Labels of effects that add up: of two columns, of the tokens of each bag and of a number; of
    the first two columns either each one's own effect, or (pair) that of the two together."""
    draw = random.Random(seed)
    cities = ["city%d" % i for i in range(40)]
    brands = ["brand%d" % i for i in range(60)]
    alone = {name: draw.gauss(0, 0.7) for name in cities + brands}
    both = {(c, b): draw.gauss(0, 1.2) for c in cities for b in brands}
    words = [[("w%d_%d" % (k, i), draw.gauss(0, 0.5)) for i in range(size)]
             for k, size in enumerate(bags)]
    with open(path, "w", encoding="utf-8") as out:
        out.write("city,brand,%s,price,label\n" % ",".join("bag%d" % k for k in range(len(bags))))
        for _ in range(lines):
            city, brand = draw.choice(cities), draw.choice(brands)
            chosen = [[w[min(int(draw.expovariate(5 / len(w))), len(w) - 1)]
                       for _ in range(draw.randint(1, 5))] for w in words]
            price = draw.lognormvariate(1, 1)
            logit = sum(e for bag in chosen for _, e in bag) - 0.3 * math.log(price) - 0.5
            logit += both[city, brand] if pair else alone[city] + alone[brand]
            label = int(draw.random() < 1 / (1 + math.exp(-logit)))
            out.write("%s,%s,%s,%.2f,%d\n" % (
                city, brand, ",".join("|".join(t for t, _ in bag) for bag in chosen), price, label))


def read_table(path):
    """Tokens and numbers of each line, and the labels."""
    with open(path, encoding="utf-8") as file:
        lines = list(csv.reader(file))
    names, lines = lines[0], lines[1:]
    ignored, numbers = {"seen_at"}, {"age", "price"}
    label = len(names) - 1
    tokens, dense = [], []
    for line in lines:
        tokens.append(["%s=%s" % (name, token) for name, field in zip(names[:label], line)
                       if name not in ignored | numbers for token in field.split("|")])
        dense.append([float(field or "nan") for name, field in zip(names, line) if name in numbers])
    return tokens, np.array(dense), np.array([line[label] in ("1", "yes") for line in lines])


def read_criteo(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.rstrip("\n").split("\t") for line in file]
    tokens = [["%d=%s" % (k, token) for k, token in enumerate(line[14:])] for line in lines]
    dense = np.array([[float(field or "nan") for field in line[1:14]] for line in lines])
    return tokens, dense, np.array([line[0] == "1" for line in lines])


def auc_of_regression(tokens, dense, labels):
    train = len(labels) - int(len(labels) * TEST_SHARE)
    dense = np.log1p(np.maximum(np.nan_to_num(dense), 0))
    deviation = dense[:train].std(0)
    dense = (dense - dense[:train].mean(0)) / np.where(deviation == 0, 1, deviation)
    hasher = FeatureHasher(2**20, input_type="string", alternate_sign=False)
    samples = scipy.sparse.hstack([hasher.transform(tokens), scipy.sparse.csr_matrix(dense)]).tocsr()
    best = 0.0
    for c in (0.03, 0.1, 0.3):
        model = LogisticRegression(C=c, solver="liblinear").fit(samples[:train], labels[:train])
        best = max(best, roc_auc_score(labels[train:], model.decision_function(samples[train:])))
    return best


def auc_of_rowhouse(rowhouse, path, directory, flags=()):
    config, report = os.path.join(directory, "my.yaml"), os.path.join(directory, "report.json")
    for command in (["data", "infer", path, "--out=" + config],
                    ["train", "--config=" + config, "--data=" + path, "--report=" + report,
                     "--test_fraction=%g" % TEST_SHARE, *flags]):
        done = subprocess.run([rowhouse, *command], cwd=directory, text=True, capture_output=True,
                              check=False)
        if done.returncode != 0:
            sys.exit("rowhouse %s: exit code %d\n%s%s" % (
                " ".join(command), done.returncode, done.stdout, done.stderr))
    with open(report, encoding="utf-8") as file:
        return json.load(file)["evaluations"][-1]["auc"]


def main():
    rowhouse, sources = os.path.abspath(sys.argv[1]), sys.argv[2]
    folder = os.environ.get("ROWHOUSE_CRITEO", "")
    criteo = sys.argv[3:] or sorted(
        os.path.join(folder, name) for name in (os.listdir(folder) if folder else []))
    is_worse = False
    with tempfile.TemporaryDirectory() as directory:
        clicks, bags, pair = (os.path.join(directory, name + ".csv")
                              for name in ("clicks", "bags", "pair"))
        make_clicks(clicks, sources)
        make_bags(bags, 200000, (300, 1000, 3000), False, 1)
        make_bags(pair, 60000, (100, 300), True, 2)
        for path in [*map(os.path.abspath, criteo), clicks, bags, pair]:
            table = read_criteo(path) if path in map(os.path.abspath, criteo) else read_table(path)
            regression = auc_of_regression(*table)
            ours = auc_of_rowhouse(rowhouse, path, directory)
            is_worse = is_worse or ours < regression - MARGIN
            print("%-30s rowhouse %.4f  regression %.4f  %+.4f%s" % (
                os.path.basename(path), ours, regression, ours - regression,
                "" if ours >= regression - MARGIN else "  WORSE"), flush=True)
    return 1 if is_worse else 0


if __name__ == "__main__":
    sys.exit(main())
