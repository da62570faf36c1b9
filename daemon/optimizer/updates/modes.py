"""The update modes by their name in `[train] update_mode`."""

from __future__ import annotations

from collections.abc import Mapping

from daemon.optimizer.updates.mode import UpdateMode
from daemon.optimizer.updates.patch import PatchMode
from daemon.optimizer.updates.rewrite import RewriteMode
from daemon.optimizer.updates.suggestions import SuggestionsMode

MODES: Mapping[str, UpdateMode] = {mode.name: mode for mode in (PatchMode(), SuggestionsMode(), RewriteMode())}
