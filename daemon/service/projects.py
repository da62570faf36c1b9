"""The honed.toml files that a daemon keeps: found, read, and read again.

A file that cannot be used any more leaves the last good one.

Invariant: names are unique, and a project keeps its name while the daemon runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock

from daemon.config import Config, ConfigError, load_config
from daemon.service.project import Project


def found_files(main: Config) -> tuple[Path, ...]:
    """The main file and those of its `[daemon] also`, each once; raises `ConfigError` for a text that matches none."""
    files = {main.file: None}
    for text in main.daemon.also:
        whole = main.file.parent / text
        matches = sorted(Path(whole.anchor).glob(str(whole.relative_to(whole.anchor))))
        if not matches:
            raise ConfigError(f"{main.file}: [daemon] also: {text} matches no file (correct the path, or remove it)")
        files |= dict.fromkeys(matches)
    real: dict[Path, Path] = {}
    for file in files:
        real.setdefault(file.resolve(), file)
    return tuple(real.values())


@dataclass
class Projects:
    """What is kept now. Blocks while it reads: call it in a thread."""

    main: Config
    kept: dict[Path, Project] = field(default_factory=dict)
    """By honed.toml."""
    wrong: dict[Path, str] = field(default_factory=dict)
    """Files that could not be used from the start: there is no project yet."""
    names: dict[str, str] = field(default_factory=dict)
    """Name by honed.toml, of every file that ever was a project here: its jobs are known by it.

    Paths are relative to the main file's folder where they lie in it, so that a folder that is moved keeps its jobs."""
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @classmethod
    def load(cls, file: Path) -> Projects:
        """Read everything; raises `ConfigError` if the main file cannot be used."""
        projects = cls(load_config(file))
        projects._read(found_files(projects.main))
        return projects

    def remember(self, names: Mapping[str, str]) -> None:
        """Names that an earlier process gave: files keep them, whichever of them can be read today."""
        with self._lock:
            found = [one.file for one in self.kept.values()]
            self.names, self.kept = {self._key(Path(where)): name for where, name in names.items()}, {}
            self._read((*found, *self.wrong))

    def reload(self) -> tuple[str, ...]:
        """Read everything again; says what could not be used, a line each. The last good ones stay."""
        with self._lock:  # looks come from several sides, each in a thread
            return self._reload()

    def _reload(self) -> tuple[str, ...]:
        faults = []
        try:
            main = load_config(self.main.file)
            files = found_files(main)
            self.main = main
        except ConfigError as error:
            faults.append(str(error))
            files = tuple(self.kept) + tuple(self.wrong)
        self._read(files)
        return (
            *faults,
            *(one.wrong for one in self.all() if one.wrong and one.wrong not in faults),
            *self.wrong.values(),
        )

    def all(self) -> tuple[Project, ...]:
        """Every project by name."""
        return tuple(sorted(self.kept.values(), key=lambda one: one.name))

    def named(self, name: str) -> Project | None:
        """The project of this name."""
        return next((one for one in self.kept.values() if one.name == name), None)

    def of_file(self, file: Path) -> Project | None:
        """The project of this honed.toml."""
        real = file.resolve()
        return next((one for one in self.kept.values() if one.file.resolve() == real), None)

    def _read(self, files: Iterable[Path]) -> None:
        """Whoever asks meanwhile sees all projects as they were, never some of them."""
        before, kept, wrong = self.kept, dict[Path, Project](), dict[Path, str]()
        for file in files:
            old = before.get(file)
            try:
                config = load_config(file)
            except ConfigError as error:
                if old is None:
                    wrong[file] = str(error)
                else:
                    kept[file] = replace(old, wrong=str(error))
                continue
            name = old.name if old else self._name(file, config)
            self.names[self._key(file)] = name
            kept[file] = Project(name, config)
        self.kept, self.wrong = kept, wrong

    def _name(self, file: Path, config: Config) -> str:
        """The one it had, else the skill's name, told from others of the same name by its file's folder."""
        name = config.skill.path.rsplit("/", 1)[-1]
        key = self._key(file)
        had = self.names.get(key, "")
        if had == name or had.startswith(f"{name}@"):
            return had
        taken = {other for where, other in self.names.items() if where != key}
        candidates = [name, f"{name}@{config.file.parent.name}"]
        candidates += [f"{name}@{config.file.parent.name}-{n}" for n in range(2, len(taken) + 3)]
        return next(one for one in candidates if one not in taken)

    def _key(self, file: Path) -> str:
        """As it is written, for links may lead two ways to what looks alike."""
        folder = self.main.file.parent
        return str(file.relative_to(folder) if file.is_relative_to(folder) else file)
