"""Every test run has a cache folder of its own."""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("redraft", deadline=None)  # no test measures time
settings.load_profile("redraft")


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REDRAFT_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield
