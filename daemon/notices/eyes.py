"""What sees events on this system: watchdog's observer, with two things of inotify's put right where it stands.

A folder that is made while another is looked through may be met twice: watching it again is no warning. And a folder
below a watched one that the kernel refuses to watch is remembered, for watchdog itself passes over it in silence.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from watchdog.observers import Observer
from watchdog.observers.api import DEFAULT_OBSERVER_TIMEOUT, BaseObserver

if TYPE_CHECKING:
    from daemon.notices.arming import Eyes

try:  # of Linux, and of a watchdog that has one descriptor for all watches
    from watchdog.observers.inotify import InotifyEmitter
    from watchdog.observers.inotify_c import CallbackId, InotifyFD, Mask, WatchCallback, WatchDescriptor
except ImportError:  # pragma: no cover - another system
    _THERE = False
else:
    _THERE = True

    class _Kernel(InotifyFD):
        """The descriptor that all watches share."""

        def __init__(self) -> None:
            super().__init__()
            self.refused: dict[str, OSError] = {}
            """Folders that the kernel does not watch."""

        def add_callback(self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId) -> WatchDescriptor:
            name = os.fsdecode(path)
            try:
                added = super().add_callback(path, mask, callback, id_)
            except (FileNotFoundError, NotADirectoryError):
                self.refused.pop(name, None)
                raise  # gone again
            except OSError as error:
                self.refused[name] = error
                raise
            self.refused.pop(name, None)
            return added

        def _add_callback(self, path: bytes, mask: Mask, callback: WatchCallback, id_: CallbackId) -> WatchDescriptor:
            watch = self._get_or_create_watch(path, mask)
            watch.callbacks[id_] = callback
            return watch.wd

    class InotifyEyes(BaseObserver):
        """As watchdog's `InotifyObserver`, on our descriptor."""

        def __init__(self) -> None:
            self._kernel = _Kernel()
            self._kernel.start()
            super().__init__(InotifyEmitter, timeout=DEFAULT_OBSERVER_TIMEOUT, inotify_fd=self._kernel)

        def on_thread_stop(self) -> None:
            """End the descriptor's thread with the others."""
            super().on_thread_stop()
            self._kernel.stop()
            self._kernel.join()

        def refused_below(self, folder: str) -> OSError | None:
            """Why a folder below this one is not watched; None if all are. Those that are gone are forgotten."""
            for path in [path for path in list(self._kernel.refused) if not os.path.isdir(path)]:  # noqa: PTH112
                self._kernel.refused.pop(path, None)
            top = folder.rstrip("/") + "/"
            return next((error for path, error in list(self._kernel.refused.items()) if path.startswith(top)), None)


def open_eyes() -> Eyes:
    """What sees events here; raises `OSError` where the kernel refuses."""
    return InotifyEyes() if _THERE else Observer()
