# Writes dropout.json: which units worker/dense/dropout.h keeps, and their factor, by its formula in
# Python's own integers. Run it in this directory.
import json
import struct

M = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15


def mix64(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M
    return x ^ (x >> 31)


def mix_key(seed, stream):
    return mix64(mix64((seed + GAMMA) & M) ^ mix64((stream + 2 * GAMMA) & M))


def mix_bits(key, counter):
    return mix64(key ^ mix64((counter + GAMMA) & M))


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def kept(seed, step, layer, first, p, samples, units):
    key = mix_key(mix_key(seed, int.from_bytes(b"dropout\0", "big")), step)
    values = []
    for s in range(first, first + samples):
        of_sample = mix_key(mix_key(key, layer), s)
        for u in range(units):
            is_dropped = mix_bits(of_sample, u) >> 32 < int(p * 2**32)
            values.append(0.0 if is_dropped else f32(1 / (1 - p)))
    return values


cases = [
    dict(seed=727, step=0, layer=0, first=0, p=0.5, samples=4, units=7),
    dict(seed=727, step=1, layer=0, first=0, p=0.5, samples=4, units=7),
    dict(seed=0, step=10**9, layer=3, first=10**12, p=0.1, samples=3, units=20),
]
for case in cases:
    case["kept"] = kept(**case)
with open("dropout.json", "w") as out:
    json.dump({"source": "tests/vectors/dropout.py", "cases": cases}, out)
    out.write("\n")
