"""An edit's statistics from what was counted while it ran."""

from __future__ import annotations

import time

from redraft.engine.results import Stats
from redraft.engine.sequence import Sequence
from redraft.engine.spans import oracle_coverage
from redraft.model.cost import MeasuredCost


def statistics(sequence: Sequence, kept: int, cost: MeasuredCost) -> Stats:
    """The final numbers; the time without drafts is an estimate: a one-token pass for each token after the first."""
    now, line, tally = time.perf_counter(), sequence.timeline, sequence.tally
    tokens = sequence.output_length
    admitted = line.admitted or now
    first = line.first_token or now
    decode, total = now - first, now - line.submitted
    context = len(sequence.prompt.ids) + tokens / 2
    alone = first - admitted + max(0, tokens - 1) * cost.seconds(1, context)
    return Stats(
        prompt_tokens=len(sequence.prompt.ids),
        cached_tokens=tally.cached_tokens,
        output_tokens=tokens,
        passes=tally.passes,
        prefill_passes=tally.prefill_passes,
        drafted=tally.drafted,
        accepted=dict(tally.accepted),
        rejected=tally.drafted - tally.accepted_total,
        kept_tokens=kept,
        coverage=kept / tokens if tokens else 0.0,
        oracle_coverage=oracle_coverage(sequence.prompt.document.ids, sequence.output),
        near_ties=tally.near_ties,
        queue_time=admitted - line.submitted,
        time_to_first_token=first - line.submitted,
        decode_time=decode,
        total_time=total,
        tokens_per_second=tokens / (now - admitted) if now > admitted else 0.0,
        draft_time=line.drafting,
        draft_model_time=line.draft_model,
        estimated_time_without_drafts=alone,
        estimated_speedup=alone / (now - admitted) if now > admitted else 1.0,
    )
