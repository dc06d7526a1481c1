# SPDX-License-Identifier: Apache-2.0
"""What the steps choose: every possible choice with its value and how often it must come, compared with many draws.

usage: test_augment_draws.py BRIDGE.so

policies.json says what torchvision and timm choose from (make_policies.py wrote it). Values must be equal to the last
bit; frequencies within 5 standard deviations. Ranges of continuous choices by their mean, variance and ends. Exit
code 1 at any difference.
"""

import collections
import ctypes
import itertools
import json
import math
import pathlib
import statistics
import sys

from op_kinds import KINDS

OP, JITTER, BLUR, RAND, TRIVIAL, AUTO, TIMM, ERASE = range(1, 9)
POLICIES = ["imagenet", "cifar10", "svhn", "v0", "v0r", "original", "originalr"]
# timm's names for operations that differ in scale only.
TIMM_KINDS = {
    "Rotate": "rotate",
    "Color": "saturation",
    "Contrast": "contrast",
    "Brightness": "brightness",
    "Sharpness": "sharpness",
    "Posterize": "posterize",
    "Solarize": "solarize",
    "SolarizeAdd": "solarize_add",
    "ShearX": "shear_x",
    "ShearY": "shear_y",
    "TranslateXRel": "translate_x",
    "TranslateYRel": "translate_y",
    "AutoContrast": "autocontrast",
    "Equalize": "equalize",
    "Invert": "invert",
}
failures = []


class Step(ctypes.Structure):
    """stk_step."""

    _fields_ = [
        ("kind", ctypes.c_int),
        ("probability", ctypes.c_double),
        ("op", ctypes.c_int),
        ("value", ctypes.c_double * 2),
        ("brightness", ctypes.c_double * 2),
        ("contrast", ctypes.c_double * 2),
        ("saturation", ctypes.c_double * 2),
        ("hue", ctypes.c_double * 2),
        ("kernel_width", ctypes.c_uint32),
        ("kernel_height", ctypes.c_uint32),
        ("policy", ctypes.c_int),
        ("n_ops", ctypes.c_uint32),
        ("n_bins", ctypes.c_uint32),
        ("magnitude", ctypes.c_double),
        ("magnitude_std", ctypes.c_double),
        ("magnitude_max", ctypes.c_double),
        ("op_probability", ctypes.c_double),
        ("increasing", ctypes.c_bool),
        ("filter", ctypes.c_int),
        ("mixed_filters", ctypes.c_bool),
        ("fill", ctypes.c_uint8 * 4),
        ("area", ctypes.c_double * 2),
        ("aspect", ctypes.c_double * 2),
        ("n_boxes_min", ctypes.c_uint32),
        ("n_boxes_max", ctypes.c_uint32),
        ("erase_value", ctypes.c_int),
        ("erase_constant", ctypes.c_float * 3),
        ("translate", ctypes.c_double * 2),
        ("scale", ctypes.c_double * 2),
        ("shear_x", ctypes.c_double * 2),
        ("shear_y", ctypes.c_double * 2),
        ("views", ctypes.c_uint32),
    ]


class Bridge:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)
        self.kinds, self.filters = (ctypes.c_int32 * 256)(), (ctypes.c_int32 * 256)()
        self.values, self.boxes = (ctypes.c_double * 256)(), (ctypes.c_int32 * 64)()
        self.n_boxes = ctypes.c_uint32()

    def step(self, kind, **fields):
        step = Step()
        self.lib.bridge_step_init(ctypes.byref(step), kind)
        for name, value in fields.items():
            setattr(step, name, value)
        return step

    def draw(self, step, sample, size, seed=7):
        """The operations as (name, value) and the filters of one sample."""
        n = self.lib.bridge_draw(
            ctypes.byref(step),
            ctypes.c_uint64(seed),
            ctypes.c_uint64(sample),
            size[1],
            size[0],
            self.kinds,
            self.values,
            self.filters,
            self.boxes,
            ctypes.byref(self.n_boxes),
        )
        if n < 0:
            sys.exit("the step was refused")
        return tuple((KINDS[self.kinds[i]], self.values[i]) for i in range(n)), list(self.filters[:n])


def check(good, text):
    if not good:
        failures.append(text)


def compare(name, expected, counts, n):
    """expected: choice -> probability."""
    for choice in counts:
        check(expected.get(choice, 0) > 0, f"{name}: {choice} can never be chosen")
    check(
        abs(sum(expected.values()) - 1) < 1e-9, f"{name}: the test's probabilities sum to {sum(expected.values())}"
    )
    for choice, p in expected.items():
        deviation = math.sqrt(n * p * (1 - p)) + 1e-9
        check(
            abs(counts.get(choice, 0) - n * p) <= 5 * deviation + 1,
            f"{name}: {choice} came {counts.get(choice, 0)} times, {n * p:.0f} expected",
        )


def outcomes(row, kind, bins):
    """(operation, value) -> probability for one operation at one of `bins`; nothing for Identity."""
    signed, plain, turned = row
    out = collections.Counter()
    for b in bins:
        b = b if len(plain) > 1 else 0
        for values in (plain, turned) if signed else (plain,):
            out[(kind, values[b])] += 1 / len(bins) / (2 if signed else 1)
    return {(): 1.0} if kind == "identity" else {(c,): p for c, p in out.items()}


def one_of(space, bins):
    out = collections.Counter()
    for kind, row in space.items():
        for choice, p in outcomes(row, kind, bins).items():
            out[choice] += p / len(space)
    return out


def in_turn(first, second):
    """Two independent choices, one after the other."""
    out = collections.Counter()
    for (a, p), (b, q) in itertools.product(first.items(), second.items()):
        out[a + b] += p * q
    return out


def torchvision(bridge, data, n):
    size = data["size"]
    for bins in (0, 9, 30):
        step = bridge.step(RAND, magnitude=bins, n_ops=1)
        counts = collections.Counter(bridge.draw(step, i, size)[0] for i in range(n))
        compare(f"RandAugment at {bins}", one_of(data["rand"], [bins]), counts, n)
    step = bridge.step(RAND, magnitude=9)
    counts = collections.Counter(bridge.draw(step, i, size)[0] for i in range(n))
    once = one_of(data["rand"], [9])
    compare("RandAugment", in_turn(once, once), counts, n)
    counts = collections.Counter(bridge.draw(bridge.step(TRIVIAL), i, size)[0] for i in range(4 * n))
    compare("TrivialAugmentWide", one_of(data["trivial"], range(31)), counts, 4 * n)
    for policy, pairs in data["policies"].items():
        expected = collections.Counter()
        for pair in pairs:
            halves = []
            for kind, p, b in pair:
                row = data["auto"][kind]
                half = collections.Counter({(): 1 - p})
                for choice, q in outcomes(row, kind, [b or 0]).items():
                    half[choice] += p * q
                halves.append({c: q for c, q in half.items() if q > 0})
            for choice, p in in_turn(*halves).items():
                expected[choice] += p / len(pairs)
        step = bridge.step(AUTO, policy=POLICIES.index(policy))
        counts = collections.Counter(bridge.draw(step, i, size)[0] for i in range(n))
        compare(f"AutoAugment {policy}", expected, counts, n)


def timm_outcomes(data, name, level, size):
    """(operation, value) -> probability of one timm operation that is taken."""
    kind = TIMM_KINDS[name.replace("Increasing", "").replace("Original", "")]
    if name not in data["timm_args"]:
        return {((kind, 0.0),): 1.0}
    out = collections.Counter()
    for args in data["timm_args"][name]:
        value = args[data["timm_levels"].index(level)]
        if kind.startswith("translate"):  # timm names the source, we the target
            value = -(value * size[1 if kind.endswith("x") else 0])
        if kind == "posterize":
            value = float(min(value, 8))
        out[((kind, float(value)),)] += 0.5
    return out


def timm(bridge, data, n):
    size = data["size"]
    for increasing, level in itertools.product((False, True), (5.0, 9.0, 10.0)):
        expected = collections.Counter({(): 0.5})
        names = data["timm_rand"][increasing]
        for name in names:
            for choice, p in timm_outcomes(data, name, level, size).items():
                expected[choice] += 0.5 * p / len(names)
        step = bridge.step(TIMM, magnitude=level, n_ops=1, increasing=increasing)
        counts = collections.Counter(bridge.draw(step, i, size)[0] for i in range(n))
        compare(f"timm rand-m{level:g}-inc{int(increasing)}", expected, counts, n)
    for policy, pairs in data["timm_policies"].items():
        check(len(pairs) == 25, f"{policy} has {len(pairs)} pairs")
        # Only magnitudes for which policies.json has values are compared by value; the others by kind.
        expected = collections.Counter()
        for pair in pairs:
            halves = []
            for name, p, level in pair:
                kind = TIMM_KINDS[name.replace("Increasing", "").replace("Original", "")]
                halves.append({c: q for c, q in {((kind, 0.0),): p, (): 1 - p}.items() if q > 0})
            for choice, p in in_turn(*halves).items():
                expected[tuple(k for k, _ in choice)] += p / len(pairs)
        step = bridge.step(AUTO, policy=POLICIES.index(policy))
        counts = collections.Counter(tuple(k for k, _ in bridge.draw(step, i, size)[0]) for i in range(n))
        compare(f"timm {policy}", expected, counts, n)
        values = collections.defaultdict(set)
        for i in range(n):
            for kind, value in bridge.draw(step, i, size)[0]:
                values[kind].add(value)
        for name, p, level in itertools.chain(*pairs):
            if p > 0 and float(level) in data["timm_levels"]:
                for ((kind, value),) in timm_outcomes(data, name, float(level), size):
                    check(value in values[kind], f"timm {policy}: {name} at {level} never gave {value}")


def spread(name, numbers, mean, deviation, low, high):
    n = len(numbers)
    check(low <= min(numbers) and max(numbers) <= high, f"{name}: {min(numbers)} ... {max(numbers)}")
    check(
        abs(statistics.fmean(numbers) - mean) < 5 * deviation / math.sqrt(n),
        f"{name}: mean {statistics.fmean(numbers)}",
    )
    check(
        abs(statistics.pstdev(numbers) / deviation - 1) < 0.03, f"{name}: deviation {statistics.pstdev(numbers)}"
    )


def even(name, numbers, low, high):
    spread(name, numbers, (low + high) / 2, (high - low) / math.sqrt(12), low, high)


def continuous(bridge, n):
    size = (224, 224)
    two = ctypes.c_double * 2
    step = bridge.step(
        JITTER, brightness=two(0.6, 1.4), contrast=two(0, 2), saturation=two(0.5, 1.5), hue=two(-0.1, 0.2)
    )
    values, orders = collections.defaultdict(list), collections.Counter()
    for i in range(n):
        ops = bridge.draw(step, i, size)[0]
        orders[tuple(k for k, _ in ops)] += 1
        for kind, value in ops:
            values[kind].append(value)
    names = ("brightness", "contrast", "saturation", "hue")
    compare("ColorJitter's order", dict.fromkeys(itertools.permutations(names), 1 / 24), orders, n)
    for kind, low, high in (
        ("brightness", 0.6, 1.4),
        ("contrast", 0, 2),
        ("saturation", 0.5, 1.5),
        ("hue", -0.1, 0.2),
    ):
        even(kind, values[kind], low - 1e-6, high + 1e-6)
    sigmas = [bridge.draw(bridge.step(BLUR), i, size)[0][0][1] for i in range(n)]
    even("blur's sigma", sigmas, 0.1 - 1e-6, 2.0 + 1e-6)
    step = bridge.step(OP, op=KINDS.index("grayscale"), probability=0.2)
    compare(
        "probability",
        {True: 0.2, False: 0.8},
        collections.Counter(len(bridge.draw(step, i, size)[0]) == 1 for i in range(n)),
        n,
    )
    step = bridge.step(OP, op=KINDS.index("rotate"), value=two(-20, 20), mixed_filters=True)
    drawn = [bridge.draw(step, i, size) for i in range(n)]
    even("rotation", [ops[0][1] for ops, _ in drawn], -20, 20)
    compare("filters", {0: 0.5, 1: 0.5}, collections.Counter(filters[0] for _, filters in drawn), n)
    step = bridge.step(TIMM, magnitude=5.0, magnitude_std=1.0, n_ops=1, op_probability=1.0)
    turns = [abs(v) / 3 for i in range(15 * n) for k, v in bridge.draw(step, i, size)[0] if k == "rotate"]
    spread("timm's noise", turns, 5, 1, 0, 10)
    step = bridge.step(TIMM, magnitude=8.0, magnitude_std=1e6, n_ops=1, op_probability=1.0)
    turns = [abs(v) / 3 for i in range(15 * n) for k, v in bridge.draw(step, i, size)[0] if k == "rotate"]
    even("timm's even magnitudes", turns, 0, 8)


def erasing(bridge, n):
    height, width = size = (120, 200)
    step = bridge.step(ERASE, probability=1.0)
    shares, ratios, tops, none = [], [], [], 0
    for i in range(n):
        bridge.draw(step, i, size)
        if bridge.n_boxes.value == 0:
            none += 1
            continue
        x, y, w, h = bridge.boxes[:4]
        check(
            x >= 0 and y >= 0 and 0 < w < width and 0 < h < height and x + w <= width and y + h <= height,
            f"box {x, y, w, h}",
        )
        shares.append(w * h / width / height)
        ratios.append(math.log(h / w))
        tops.append(y / (height - h))
    check(none == 0, f"{none} of {n} images without a box")
    check(min(shares) > 0.018 and max(shares) < 0.335, f"areas {min(shares)} ... {max(shares)}")
    check(
        min(ratios) > math.log(0.3) - 0.1 and max(ratios) < math.log(3.3) + 0.1,
        f"ratios {min(ratios)} ... {max(ratios)}",
    )
    check(abs(statistics.fmean(tops) - 0.5) < 0.02, "boxes are not evenly placed")
    for tiny in ((1, 1), (1, 50), (50, 1)):
        for i in range(100):
            bridge.draw(step, i, tiny)
            check(bridge.n_boxes.value == 0 or min(bridge.boxes[2:4]) == 0, f"a box in {tiny}")
    step = bridge.step(ERASE, n_boxes_min=1, n_boxes_max=3)
    numbers = collections.Counter()
    for i in range(n):
        bridge.draw(step, i, size)
        numbers[bridge.n_boxes.value] += 1
    compare("boxes", {0: 0.5, 1: 1 / 6, 2: 1 / 6, 3: 1 / 6}, numbers, n)


def mixing(bridge, n):
    out, size = (ctypes.c_double * 7)(), (160, 224)

    def draw(first, mixup, cutmix, p=1.0, switch=0.5, samples=8):
        bridge.lib.bridge_mix(
            (ctypes.c_double * 4)(mixup, cutmix, p, switch), ctypes.c_uint64(first), samples, size[1], size[0], out
        )
        return list(out)

    for alpha in (0.05, 0.2, 1.0, 3.5):
        shares = [draw(i, alpha, 0)[2] for i in range(n)]
        spread(f"Beta({alpha}, {alpha})", shares, 0.5, math.sqrt(1 / (4 * (2 * alpha + 1))), 0, 1)
    shares = sorted(draw(i, 1.0, 0)[2] for i in range(n))
    check(max(abs(s - i / n) for i, s in enumerate(shares)) < 1.7 / math.sqrt(n), "Beta(1, 1) is not even")
    shares = sorted(draw(i, 0.5, 0)[2] for i in range(n))  # the arcsine distribution
    check(
        max(abs(math.asin(math.sqrt(s)) * 2 / math.pi - i / n) for i, s in enumerate(shares)) < 1.7 / math.sqrt(n),
        "Beta(0.5, 0.5) is not the arcsine distribution",
    )
    compare(
        "shift", {k: 1 / 7 for k in range(1, 8)}, collections.Counter(int(draw(i, 1.0, 0)[0]) for i in range(n)), n
    )
    choices = collections.Counter()
    for i in range(n):
        shift, cut, share, x, y, width, height = draw(i, 0.8, 1.0, 0.7, 0.25)
        choices[bool(shift), bool(cut)] += 1
        if cut:
            inside = 0 <= x <= x + width <= size[1] and 0 <= y <= y + height <= size[0]
            check(inside and abs(share - 1 + width * height / size[0] / size[1]) < 1e-12, f"CutMix {draw(i, 0.8, 1.0)}")
        elif not shift:
            check(share == 1, "a share of a batch that is not mixed")
    compare("mix", {(False, False): 0.3, (True, True): 0.175, (True, False): 0.525}, choices, n)
    check(draw(0, 1.0, 1.0, samples=1)[0] == 0, "one sample is mixed with itself")


def main():
    bridge = Bridge(sys.argv[1])
    data = json.loads(pathlib.Path(__file__).with_name("policies.json").read_text())
    if ctypes.sizeof(Step) != bridge.lib.bridge_step_init(None, 0):
        sys.exit("this test's Step is not stk_step")
    torchvision(bridge, data, 30000)
    timm(bridge, data, 20000)
    continuous(bridge, 12000)
    erasing(bridge, 12000)
    mixing(bridge, 12000)
    for text in failures[:20]:
        print(text)
    print(f"{len(failures)} differences from torchvision {data['torchvision']} and timm {data['timm']}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
