"""Runs edits on an engine and collects what they emit."""

from __future__ import annotations

import queue
from contextlib import contextmanager

import tiny_models
from redraft.engine.results import Delta, Failed, Started
from redraft.engine.scheduler import SchedulerLimits
from redraft.engine.service import EngineService


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


@contextmanager
def services():
    """Starts services on a tiny model; at the end they must leave their slots as they should be."""
    running = []

    def start(model=None, limits=None, **options):
        service = EngineService(model or tiny_models.loaded(), limits or SchedulerLimits(), **options)
        service.start()
        running.append(service)
        return service

    yield start
    for service in running:
        service.stop()
        service._target.slots.check()
        assert service._target.slots.running == 0
