"""What the firewall looks for, gathered from a task set once a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from daemon.optimizer.firewall.gold import Gold, as_options, gold_of, shapes
from daemon.optimizer.firewall.grams import Grams
from daemon.optimizer.firewall.material import Material
from daemon.optimizer.firewall.names import distinctive, names_of
from daemon.optimizer.firewall.phrases import Phrases
from daemon.optimizer.firewall.vocabulary import STOP_WORDS
from daemon.optimizer.firewall.words import Words, split, split_code
from daemon.tasks.task import Task, TaskSet

GOLD_RUN = 6
"""Words of a run of a long gold text."""
CODE_RUN, CODE_SIGNS = 10, 4
"""Words and signs of a run of source, and how many of them must be signs that prose does not use."""
_PROSE = frozenset(".,:;'\"-!?`")
_CHECK = re.compile(r"assert|==|!=|=~|\bgrep\b|\bre\.|match|\bexpect|\bdiff\b|\bcmp\b|-eq|-ne|pattern|regex")


def gold_grams() -> Grams:
    """An empty index of long gold texts."""
    return Grams(size=GOLD_RUN, content=3)


def code_grams() -> Grams:
    """An empty index of source."""
    return Grams(size=CODE_RUN, content=CODE_SIGNS, dull=lambda word: word.isalnum() or word in _PROSE)


@dataclass(slots=True)
class Owners:
    """How many tasks have a phrase: there may be millions of these, so no task's number is kept but the last one's."""

    gold: int = 0
    """Tasks to which it is gold."""
    either: int = 0
    """These and those to whom it is gold with common words: "The King and I" counts only where it has capitals."""
    named: int = 0
    """Tasks whose prompts name it."""
    kind: str = ""
    text: str = ""
    """As the first prompt has it."""
    held: bool = False
    """Whether any of them is held out."""
    _last: tuple[int, int, int] = (-1, -1, -1)

    def note(self, number: int, *, gold: bool = False, title: bool = False, named: bool = False) -> None:
        """Count a task; tasks come in the order of their numbers, each perhaps several times."""
        last_gold, last_either, last_named = self._last
        if gold and last_gold != number:
            self.gold, last_gold = self.gold + 1, number
        if (gold or title) and last_either != number:
            self.either, last_either = self.either + 1, number
        if named and last_named != number:
            self.named, last_named = self.named + 1, number
        self._last = (last_gold, last_either, last_named)


@dataclass
class Index:
    """Everything that is looked for."""

    size: int = 0
    """Tasks."""
    prompts: Grams = field(default_factory=Grams)
    """Prompts and files."""
    answers: Grams = field(default_factory=gold_grams)
    checks: Grams = field(default_factory=code_grams)
    phrases: Phrases = field(default_factory=Phrases)
    owners: dict[str, Owners] = field(default_factory=dict)
    spread: Counter[str] = field(default_factory=Counter)
    """How many prompts have each phrase."""
    secrets: set[str] = field(default_factory=set)
    gold: dict[str, Gold] = field(default_factory=dict)
    """Of each train task, by id."""
    left_out: int = 0
    """Files that were not read to their end."""


def build(tasks: TaskSet) -> Index:
    """Read the whole set, the sealed split included, task by task."""
    index, with_files = Index(), 0
    for task in _every(tasks):
        index.size += 1
        with_files += bool(task.shown or task.tests)
    reader = Material.for_tasks(with_files)
    for number, task in enumerate(_every(tasks)):
        _take(index, number, task, split(task.prompt), reader)
    # Only now all phrases are known; prompts are read again, for together they would fill the memory.
    for task in _every(tasks):
        index.spread.update({hit.phrase for hit in index.phrases.find(split(task.prompt))})
    index.left_out = reader.left_out
    return index


def _every(tasks: TaskSet) -> Iterator[Task]:
    """Every task, in the same order each time."""
    yield from tasks.split("train")
    yield from tasks.split("selection")
    yield from tasks.open_test()


def _take(index: Index, number: int, task: Task, prompt: Words, reader: Material) -> None:
    held = task.split != "train"
    given = reader.texts(task.shown)
    gold = _not_given(gold_of(task, reader.texts(task.tests)), task, given)
    index.prompts.add([prompt.words, *(split(text).words for texts in given.values() for text in texts)], held=held)
    index.answers.add([split(text).words for text in (*gold.answers, *gold.files)], held=held)
    checks = [line for text in gold.source for line in text.splitlines() if _CHECK.search(line)]
    index.checks.add([split_code(line).words for line in checks], held=held)
    index.secrets |= {as_options(text) for text in gold.secrets}
    for words in _shapes((*gold.answers, *gold.files)):
        if distinctive(words):
            _own(index, words, held=held).note(number, gold=True)
        elif sum(word not in STOP_WORDS for word in words) > 1:
            _own(index, words, held=held).note(number, title=True)
    for name in names_of(task):
        owners = _own(index, name.words, held=held)
        owners.note(number, named=True)
        owners.kind, owners.text = owners.kind or name.kind, owners.text or name.text
    if not held:
        index.gold[task.id] = gold


def _not_given(gold: Gold, task: Task, given: Mapping[str, tuple[str, ...]]) -> Gold:
    """Without the values of gold files that the agent was given as well."""
    seen = {as_options(text) for texts in given.values() for text in texts}
    prompt = as_options(task.prompt)
    files = dict.fromkeys(gold.files)
    return replace(gold, files=tuple(t for t in files if as_options(t) not in seen and as_options(t) not in prompt))


def _shapes(texts: Iterable[str]) -> list[tuple[str, ...]]:
    return [words for text in texts for words in shapes(text)]


def _own(index: Index, words: tuple[str, ...], *, held: bool) -> Owners:
    """The owners of a phrase; those of one too short or too long to be looked for are forgotten."""
    key = index.phrases.add(words)
    owners = index.owners.setdefault(key, Owners()) if key else Owners()
    owners.held = owners.held or held
    return owners
