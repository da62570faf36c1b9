"""The firewall of one run: what may go to the optimizer, and which of its edits may go on.

Invariants: it reads the sealed split (the second legal reader beside reports) and gives nothing of it away: a reason
names the kind of a leak, and its words only where they are a train task's own; nothing is logged.

What is caught: see `outgoing` and `edit`. What is not: answers of one to three letters or digits, years and round
numbers in an edit; a paraphrase; look-alike letters; what lies in files beyond `material`'s bounds. The gate and the
people who review commits stand behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from typing import Literal

from daemon.optimizer.firewall.gold import as_options
from daemon.optimizer.firewall.index import Index, build
from daemon.optimizer.firewall.marked import as_answer, as_name, is_title
from daemon.optimizer.firewall.own import Own, cut
from daemon.optimizer.firewall.phrases import Hit
from daemon.optimizer.firewall.words import Words, split, split_code
from daemon.tasks.task import Task, TaskSet
from skills_repo.edits import Edit, Op
from skills_repo.skill import Skill

Speaker = Literal["scorer", "agent"]
"""Whose words go out: a scorer has seen the gold, an agent never has."""
_SHOWN = 60


@dataclass(frozen=True)
class _Known:
    """What the present skill says already: no news, so no leak."""

    runs: Set[int]
    gold_runs: Set[int]
    checks: Set[int]
    phrases: Set[str]
    options: str


@dataclass(frozen=True)
class Firewall:
    """Built once a run with `of`, which blocks: it reads files."""

    _index: Index = field(repr=False)  # a log line must not show it
    _known: dict[str, _Known] = field(default_factory=dict, repr=False)
    _own: dict[str, Own] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, tasks: TaskSet) -> Firewall:
        """The firewall for a set: every split is read, the sealed one too. The same set gives the same firewall."""
        return cls(build(tasks))

    @property
    def left_out(self) -> int:
        """Files that were not read to their end: what lies beyond is not looked for."""
        return self._index.left_out

    def outgoing(self, text: str, task: Task, speaker: Speaker = "scorer") -> str:
        """A text about an attempt at a train task, with `WITHHELD` in place of what the optimizer must not see.

        Of both speakers: text of selection and test tasks (runs of eight words that no train task has), the task's
        answers, and an answer of any length where it is the whole text or its last line or, there, follows "answer".
        A scorer has seen the gold, so of its words also: whatever it says to be expected, on any line; regular
        expressions, texts of scorer options, values of gold files, runs of verifier source.
        An agent has not, so its trace stays readable: common words stay, as do answers that stand in its own prompt
        (to cut one choice out of four would point at it). A solved attempt's answer is cut too: "solved" says enough.
        The prompt itself is no secret. A text with nothing to cut comes back as it is.
        """
        if text == task.prompt:
            return text
        words = split(text)
        runs = self._index.prompts.find(words.words, rare=0)
        spans = [words.span(run.first, run.last) for run in runs]
        own = self._own_of(task)
        spans += own.answers_in(words, everything=speaker == "scorer")
        if speaker == "scorer":
            spans += own.secrets_in(words)
        return cut(words.text, spans) if spans else text

    def edit(self, edit: Edit, skill: Skill) -> str:
        """Why an edit is refused, in words for the apply report and the optimizer; "" if it may go on.

        Its content is judged like `text`; its rationale, which goes into a commit and not into the skill, may name
        train tasks but not repeat held-out text.
        """
        words = split(edit.rationale)
        if self._index.prompts.find(words.words, rare=0):
            return "its rationale shares a run of words with a held-out task"
        name = edit.file if edit.op is Op.CREATE else ""
        return self.text("\n".join(filter(None, (name, edit.link, edit.content))), skill)

    def text(self, text: str, skill: Skill) -> str:
        """Why a new text (a rewritten skill, guidance, a whole candidate) is refused; "" if it may go on.

        Only what `skill` does not say already counts. Refused is a text that shares a run of eight words with a
        held-out task, or with one train task alone; a distinctive answer of any task (four or more letters and digits,
        neither common words nor a round number nor a year; a label that many tasks share is none); a run of six words
        of a long answer; verifier checks and scorer options; files, names, identifiers and long numbers that few
        prompts have.
        """
        words, known = split(text), self._known_of(skill)
        return self._repeats(words, known) or self._shows_gold(words, known) or self._names(words, known)

    def remark(self, text: str, skill: Skill) -> str:
        """What the optimizer says beside its edits (a reason, a pattern), with `WITHHELD` in place of what it may not.

        It goes into commits and into later prompts. Cut are gold answers, held-out text and names, unless `skill` says
        them; an edit is not lost over its reason, which may quote what an agent computed, and may name train tasks.
        """
        words, index, known = split(text), self._index, self._known_of(skill)
        runs = index.prompts.find(words.words, rare=0, exempt=known.runs)
        runs += index.answers.find(words.words, rare=index.size, exempt=known.gold_runs)
        spans = [words.span(run.first, run.last) for run in runs]
        hits = [*self._gold(words, known), *(h for h in self._named(words, known) if index.owners[h.phrase].held)]
        spans += [words.span(hit.first, hit.last) for hit in hits]
        return cut(words.text, spans) if spans else text

    def _repeats(self, words: Words, known: _Known) -> str:
        for run in self._index.prompts.find(words.words, rare=self._rare, exempt=known.runs):
            count = run.last - run.first + 1
            if run.held:
                return f"shares {count} words with a held-out task"
            return f"repeats {count} words of one train task: {_quoted(words.raw(run.first, run.last))}"
        return ""

    def _shows_gold(self, words: Words, known: _Known) -> str:
        index = self._index
        if index.checks.find(split_code(words.text).words, rare=index.size, exempt=known.checks):
            return "repeats the source of a verifier"
        if index.answers.find(words.words, rare=index.size, exempt=known.gold_runs):
            return "shares a run of words with a gold answer"
        options = as_options(words.text)
        if any(secret in options and secret not in known.options for secret in index.secrets):
            return "repeats an option of a scorer"
        return "carries a gold answer" if any(self._gold(words, known)) else ""

    def _gold(self, words: Words, known: _Known) -> Iterator[Hit]:
        """Where a distinctive answer stands."""
        index = self._index
        for hit in index.phrases.find(words):
            owners = index.owners[hit.phrase]
            gold = owners.either if is_title(words.raw(hit.first, hit.last)) else owners.gold
            label = gold > max(2, index.size // 50) or index.spread[hit.phrase] > max(3, index.size // 20)
            if gold and not label and hit.phrase not in known.phrases and as_answer(words, hit):
                yield hit

    def _names(self, words: Words, known: _Known) -> str:
        for hit in self._named(words, known):
            owners = self._index.owners[hit.phrase]
            if owners.held:
                return f"names a {owners.kind} of a held-out task"
            return f"names the {owners.kind} of one task: {_quoted(words.raw(hit.first, hit.last))}"
        return ""

    def _named(self, words: Words, known: _Known) -> Iterator[Hit]:
        """Where a name stands that few prompts have."""
        index = self._index
        for hit in index.phrases.find(words):
            owners = index.owners[hit.phrase]
            most = max(2, index.size // 10) if owners.kind == "file" else self._rare
            spread = max(owners.named, index.spread[hit.phrase])
            if not owners.named or spread > most or hit.phrase in known.phrases:
                continue
            if owners.kind == "file" or as_name(words, hit):
                yield hit

    @property
    def _rare(self) -> int:
        """In how many prompts a task's own words may be: a few, in a large set."""
        return max(1, min(3, self._index.size // 50))

    def _known_of(self, skill: Skill) -> _Known:
        if skill.digest not in self._known:
            words, index = split(skill.text), self._index
            self._known.clear()
            self._known[skill.digest] = _Known(
                runs=index.prompts.hashes(words.words),
                gold_runs=index.answers.hashes(words.words),
                checks=index.checks.hashes(split_code(words.text).words),
                phrases={hit.phrase for hit in index.phrases.find(words)},
                options=as_options(words.text),
            )
        return self._known[skill.digest]

    def _own_of(self, task: Task) -> Own:
        if task.id not in self._own:
            self._own[task.id] = Own.of(task, self._index.gold.get(task.id))
        return self._own[task.id]


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return f'"{text}"' if len(text) <= _SHOWN else f'"{text[:_SHOWN]}…"'
