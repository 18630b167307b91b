# Writes gdcn.json: two gated cross layers of GDCN over two vectors of two floats, and central
# differences of sum(dz * z), in float64. Run it in this directory.
import json
import math
import random

N, LAYERS, SAMPLES = 4, 2, 3
PER_LAYER = N * N + N + N * N  # W, b, G


def times(matrix, x):
    return [sum(matrix[r * N + c] * x[c] for c in range(N)) for r in range(N)]


def forward(parameters, x0):
    x = list(x0)
    for layer in range(LAYERS):
        p = parameters[layer * PER_LAYER :]
        w, b, g = p[: N * N], p[N * N : N * N + N], p[N * N + N : PER_LAYER]
        crossed = [a + c for a, c in zip(times(w, x), b)]
        gate = [1 / (1 + math.exp(-a)) for a in times(g, x)]
        x = [x0[i] * crossed[i] * gate[i] + x[i] for i in range(N)]
    return x


def all_samples(parameters, x, y):
    return [z for s in range(SAMPLES)
            for z in forward(parameters, x[2 * s : 2 * s + 2] + y[2 * s : 2 * s + 2])]


draw = random.Random(7)
numbers = lambda count: [round(draw.uniform(-1, 1), 3) for _ in range(count)]
parameters, x, y = numbers(LAYERS * PER_LAYER), numbers(2 * SAMPLES), numbers(2 * SAMPLES)
dz = numbers(N * SAMPLES)


def gradient(values):
    slopes, h = [], 1e-6
    for i, value in enumerate(values):
        sums = []
        for values[i] in (value + h, value - h):
            sums.append(sum(d * z for d, z in zip(dz, all_samples(parameters, x, y))))
        values[i] = value
        slopes.append((sums[0] - sums[1]) / (2 * h))
    return slopes


with open("gdcn.json", "w") as out:
    json.dump({"source": "tests/vectors/gdcn.py", "parameters": parameters, "x": x, "y": y, "dz": dz,
               "z": all_samples(parameters, x, y), "gradients": gradient(parameters),
               "dx": gradient(x), "dy": gradient(y)}, out)
    out.write("\n")
