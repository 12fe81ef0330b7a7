# SPDX-License-Identifier: GPL-2.0-only
"""Confidence intervals."""

import math


def compute_wilson(k: int, n: int) -> tuple[float, float]:
    """Returns the 95 % Wilson interval of the rate k/n."""
    if not n:
        return 0.0, 1.0
    z = 1.959963984540054
    rate, square = k / n, z * z
    middle = (rate + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    return max(0.0, middle - half), min(1.0, middle + half)
