"""Cost curve files."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path

from redraft.drafting.length import CostCurve


def read_curve(path: Path) -> CostCurve:
    """A cost curve file: {"points": [[query_tokens, cost], …]}. Raises ValueError if it is not one, OSError."""
    try:
        points = json.loads(path.read_text(encoding="utf-8"))["points"]
        curve = CostCurve(tuple((int(queries), float(cost)) for queries, cost in points))
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a cost curve ({error!r})") from error
    if not curve.points:
        raise ValueError(f"{path}: not a cost curve (it has no points)")
    if any(a >= b for (a, _), (b, _) in pairwise(curve.points)):
        raise ValueError(f"{path}: not a cost curve (query tokens must rise from point to point)")
    if not all(math.isfinite(cost) and cost > 0 for _, cost in curve.points):
        raise ValueError(f"{path}: not a cost curve (costs must be above 0)")
    return curve
