"""One train task's own secrets, made ready to be found in what is said about its attempts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field

from daemon.optimizer.firewall.cues import CUES, REACH, told
from daemon.optimizer.firewall.gold import Gold, as_options, gold_of, shapes
from daemon.optimizer.firewall.grams import Grams
from daemon.optimizer.firewall.index import code_grams, gold_grams
from daemon.optimizer.firewall.material import Material
from daemon.optimizer.firewall.names import distinctive
from daemon.optimizer.firewall.phrases import SHORTEST, Phrases
from daemon.optimizer.firewall.words import Words, split, split_code
from daemon.tasks.task import Task

WITHHELD = "[withheld]"
Span = tuple[int, int]
_AROUND = frozenset(("answer", "final", "the", "is", "a", "an", "result", "output"))
"""Words around a bare answer."""


@dataclass(frozen=True)
class Own:
    """A task's secrets."""

    answers: Phrases = field(default_factory=Phrases)
    values: Phrases = field(default_factory=Phrases)
    """Of gold files and comparisons."""
    short: Set[str] = frozenset()
    """Answers of any length, as their letters and digits."""
    long: Grams = field(default_factory=gold_grams)
    source: Grams = field(default_factory=code_grams)
    options: tuple[str, ...] = ()
    given: Set[str] = frozenset()
    """Answers that stand in the prompt."""
    distinct: Set[str] = frozenset()
    """Answers that are no common words."""

    @classmethod
    def of(cls, task: Task, gold: Gold | None) -> Own:
        """Make ready; reads the tests files only of a task whose gold is not at hand."""
        gold = gold or gold_of(task, Material().texts(task.tests))
        own = cls(options=tuple(as_options(text) for text in gold.secrets))
        shaped = [words for text in gold.answers for words in shapes(text)]
        for words in shaped:
            own.answers.add(words)
        for words in (words for text in gold.files for words in shapes(text)):
            if distinctive(words):
                own.values.add(words)
        own.long.add([split(text).words for text in (*gold.answers, *gold.files)], held=True)
        own.source.add([split_code(text).words for text in gold.source], held=True)
        own.source.excuse(split_code(task.prompt).words)
        own.long.excuse(split(task.prompt).words)
        return cls(
            answers=own.answers,
            values=own.values,
            short={"".join(words) for words in shaped},
            long=own.long,
            source=own.source,
            options=own.options,
            given={hit.phrase for hit in own.answers.find(split(task.prompt))},
            distinct={"".join(words) for words in shaped if distinctive(words)},
        )

    def answers_in(self, words: Words, *, everything: bool) -> list[Span]:
        """Places of the task's answers; not `everything`: without common words and what the prompt shows."""
        ending = _last_line(words)
        spans = [*self._bare(words, ending), *self._cued(words, 0 if everything else ending)]
        looked_for = self.short if everything else self.distinct - self.given
        spans += [words.span(hit.first, hit.last) for hit in self.answers.find(words) if hit.phrase in looked_for]
        return spans + [words.span(run.first, run.last) for run in self.long.find(words.words, rare=0)]

    def secrets_in(self, words: Words) -> list[Span]:
        """Places of what only somebody who saw the verifier can say."""
        spans = list(told(words.text))
        spans += [words.span(hit.first, hit.last) for hit in self.values.find(words)]
        code = split_code(words.text)
        spans += [code.span(run.first, run.last) for run in self.source.find(code.words, rare=0)]
        if any(option in as_options(words.text) for option in self.options):
            spans.append((0, len(words.text)))
        return spans

    def _bare(self, words: Words, ending: int) -> Iterator[Span]:
        """The whole text or its last line, where it is nothing but the answer."""
        for first in sorted({0, ending}):
            kept = [at for at in range(first, len(words)) if words.words[at] not in _AROUND]
            if kept and "".join(words.words[at] for at in kept) in self.short:
                yield words.span(kept[0], kept[-1])
            elif first < len(words) and "".join(words.words[first:]) in self.short:
                yield words.span(first, len(words) - 1)

    def _cued(self, words: Words, begin: int) -> Iterator[Span]:
        """Answers too short to be looked for anywhere, after a word such as "expected" on the same line."""
        tiny = {key for key in self.short if len(key) < SHORTEST}
        since = REACH
        for at in range(begin, len(words)) if tiny else ():
            word = words.words[at]
            if at and "\n" in words.text[words.spans[at - 1][1] : words.spans[at][0]]:
                since = REACH
            if word in tiny and since < REACH and word not in _AROUND:
                yield words.spans[at]
            since = 0 if word in CUES else since + 1


def _last_line(words: Words) -> int:
    """The number of the last line's first word."""
    start = words.text.rstrip().rfind("\n") + 1
    return bisect_left(words.spans, (start, 0))


def cut(text: str, spans: Sequence[Span]) -> str:
    """The text with `WITHHELD` in place of the spans; what touches or overlaps is one."""
    pieces: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if end <= done:
            continue
        if start > done or not pieces:
            pieces += (text[done:start], WITHHELD)
        done = end
    return "".join([*pieces, text[done:]])
