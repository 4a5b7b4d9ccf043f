"""Runs edits on an engine and collects what they emit."""

from __future__ import annotations

import queue

from redraft.engine.results import Delta, Failed, Started


def collect(events):
    """Started, text, Finished of one edit."""
    started, texts = None, []
    while True:
        event = events.get(timeout=60)
        if isinstance(event, Started):
            started = event
        elif isinstance(event, Delta):
            assert "".join(event.text[s.output.start - len("".join(texts)) :][: s.output.end - s.output.start]
                           for s in event.spans) == event.text  # fmt: skip
            texts.append(event.text)
        elif isinstance(event, Failed):
            raise event.error
        else:
            return started, "".join(texts), event


def run(service, request):
    events = queue.SimpleQueue()
    service.submit(request, events.put)
    return collect(events)
