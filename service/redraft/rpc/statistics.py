"""Statistics and shaping: proto <-> domain."""

from __future__ import annotations

from redraft.engine.results import Shaping, Stats
from redraft.rpc.enums import SOURCE
from redraft.v1 import edit_pb2 as pb


def stats_to_wire(stats: Stats) -> pb.Stats:
    """The message; seconds stay seconds."""
    return pb.Stats(
        prompt_tokens=stats.prompt_tokens,
        cached_tokens=stats.cached_tokens,
        output_tokens=stats.output_tokens,
        passes=stats.passes,
        prefill_passes=stats.prefill_passes,
        drafted_tokens=stats.drafted,
        accepted=[
            pb.AcceptedTokens(source=SOURCE.to_wire(source), tokens=tokens) for source, tokens in stats.accepted.items()
        ],
        rejected_tokens=stats.rejected,
        kept_tokens=stats.kept_tokens,
        coverage=stats.coverage,
        oracle_coverage=stats.oracle_coverage,
        near_ties=stats.near_ties,
        queue_seconds=stats.queue_time,
        time_to_first_token_seconds=stats.time_to_first_token,
        decode_seconds=stats.decode_time,
        total_seconds=stats.total_time,
        tokens_per_second=stats.tokens_per_second,
        draft_seconds=stats.draft_time,
        draft_model_seconds=stats.draft_model_time,
        estimated_seconds_without_drafts=stats.estimated_time_without_drafts,
        estimated_speedup=stats.estimated_speedup,
    )


def stats_from_wire(message: pb.Stats) -> Stats:
    """The domain's statistics; raises UnknownValue for a source that this version does not know."""
    return Stats(
        prompt_tokens=message.prompt_tokens,
        cached_tokens=message.cached_tokens,
        output_tokens=message.output_tokens,
        passes=message.passes,
        prefill_passes=message.prefill_passes,
        drafted=message.drafted_tokens,
        accepted={SOURCE.from_wire(item.source): item.tokens for item in message.accepted},
        rejected=message.rejected_tokens,
        kept_tokens=message.kept_tokens,
        coverage=message.coverage,
        oracle_coverage=message.oracle_coverage,
        near_ties=message.near_ties,
        queue_time=message.queue_seconds,
        time_to_first_token=message.time_to_first_token_seconds,
        decode_time=message.decode_seconds,
        total_time=message.total_seconds,
        tokens_per_second=message.tokens_per_second,
        draft_time=message.draft_seconds,
        draft_model_time=message.draft_model_seconds,
        estimated_time_without_drafts=message.estimated_seconds_without_drafts,
        estimated_speedup=message.estimated_speedup,
    )


def shaping_to_wire(shaping: Shaping) -> pb.Shaping:
    """The message."""
    return pb.Shaping(
        removed_prefix=shaping.removed_prefix,
        removed_suffix=shaping.removed_suffix,
        leading=shaping.leading,
        trailing=shaping.trailing,
        line_endings=shaping.line_endings,
    )


def shaping_from_wire(message: pb.Shaping) -> Shaping:
    """The domain's shaping."""
    return Shaping(
        removed_prefix=message.removed_prefix,
        removed_suffix=message.removed_suffix,
        leading=message.leading,
        trailing=message.trailing,
        line_endings=message.line_endings,
    )
