"""The course of one paired judgement: what is asked in which order, what is known at each look, how it ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from daemon.optimizer.gates.arms import Arm, broken_protected, changed, mixed, paired, samples, table
from daemon.optimizer.gates.evidence import p_value, p_words, standard_error
from daemon.optimizer.gates.rule import TIE
from daemon.optimizer.gates.verdict import Look, Pool, Ruling, Verdict
from daemon.tasks.task import Task


@dataclass
class Course:
    """One candidate against one current skill."""

    base: Arm
    candidate: Arm
    pool: Pool
    """The trials that the current skill's estimate rests on."""
    shorter: bool
    """The candidate's text is the shorter one, and that breaks a tie."""
    leads: bool = field(default=False, init=False)
    """The candidate has been found better: it is to be confirmed."""
    _rounds: int = field(default=0, init=False)
    _fresh: int = field(default=0, init=False)
    """Fresh trials of the current skill beyond its pool."""
    _asked: list[Task] = field(default_factory=list, init=False)
    """Tasks that the candidate was asked."""
    _attempts: list[int] = field(default_factory=lambda: [0, 0], init=False)
    """Of the current skill, of the candidate."""
    _looks: list[Look] = field(default_factory=list, init=False)
    _evidence: float | None = field(default=None, init=False)

    @property
    def tasks(self) -> Sequence[Task]:
        """The selection split."""
        return self.base.selection.tasks

    async def open(self, given: Pool) -> None:
        """Have the current skill's trials at hand; those of `given` were paid for by others."""
        await self.base.ask(given.trials, self.tasks)
        new = [trial for trial in self.pool.trials if trial not in given.trials]
        self._attempts[0] += await self.base.ask(new, self.tasks)

    async def round(self, number: int, bar: float, hope: float, *, last: bool) -> Verdict | None:
        """One more trial; a verdict if that ends it. Sets `leads` if the candidate is better by the bar."""
        self._rounds = number
        valid = [task for task in self.tasks if self.base.valid(task.id)]
        if not self._enough(len(valid), len(self.tasks)):
            return self._indecisive(len(valid), self.tasks)
        sure = {task.id for task in valid if self.base.always(task.id)}
        blocks = [[task for task in valid if (task.id in sure) is waits] for waits in (False, True)]
        for final, block in enumerate(blocks):
            await self._ask(block, number)
            if verdict := self._look(bar, hope, complete=bool(final), last=last):
                return verdict
        return None

    async def _ask(self, block: Sequence[Task], number: int) -> None:
        """The candidate's next trial of these tasks, and a fresh one of the current skill where it may tell."""
        self._attempts[1] += await self.candidate.ask([number - 1], block)
        self._asked = [task for task in self.tasks if task in self._asked or task in block]
        if number > 1 and self._fresh < number - 1:
            trial = self.pool.fresh + self._fresh
            self._fresh += 1
            self._attempts[0] += await self.base.ask([trial], mixed(self.base, self.candidate, self.tasks))

    def _look(self, bar: float, hope: float, *, complete: bool, last: bool) -> Verdict | None:
        """Decide, or go on. Before the round is complete it can only be over: the rest cannot help the candidate."""
        pairs = paired(self.base, self.candidate, self.tasks)
        asked = self.tasks if complete else self._asked
        if asked and not self._enough(len(pairs), len(asked)):
            return self._indecisive(len(pairs), asked) if complete else None
        if (task := broken_protected(self.base, self.candidate, pairs)) is not None:
            return self._end("rejected", f"the protected task {task.id} was solved before and is not now")
        evidence = self._evidence = p_value(samples(self.base, self.candidate, pairs))
        tied = not mixed(self.base, self.candidate, pairs)
        if tied and self.shorter:
            self.leads = complete and last
            self._note("the same result in every trial, and the skill is shorter")
            return None
        if complete and evidence <= bar:
            self.leads = True
            self._note(f"{p_words(evidence)} is at most {bar:.3f}: better, to be confirmed")
            return None
        if tied or evidence >= hope:
            return self._end("rejected", self._hopeless(evidence, hope, tied=tied, last=last))
        if complete:
            self._note(f"{p_words(evidence)} is below {hope:.3f}: not clear yet, going on")
        return None

    def _hopeless(self, evidence: float, hope: float, *, tied: bool, last: bool) -> str:
        if tied:
            return "the same result in every trial: a tie is not better"
        if last:
            return f"{p_words(evidence)} is over {hope:.3f}: chance alone makes such a lead too often"
        return f"{p_words(evidence)} is over {hope:.2f}: too little of a lead to go on"

    async def confirm(self, again: int) -> Verdict:
        """Measure the candidate by trials that decided nothing: it must lead in them too, and they are its score."""
        pool = Pool(self._rounds, again)
        self._attempts[1] += await self.candidate.ask(pool.trials, self.tasks)
        self._asked = list(self.tasks)
        pairs = [task for task in paired(self.base, self.candidate, self.tasks) if self._confirmed(task, pool)]
        if not self._enough(len(pairs), len(self.tasks)):
            return self._indecisive(len(pairs), self.tasks, pool)
        if (task := broken_protected(self.base, self.candidate, pairs)) is not None:
            return self._end("rejected", f"the protected task {task.id} was solved before and is not now", pool)
        before, after = self._means(pairs, pool)
        assert before is not None
        assert after is not None
        lead = after - before
        if lead > TIE or (self.shorter and abs(lead) <= TIE):
            return self._end("accepted", self._better(again), pool)
        return self._end(
            "rejected", f"better at first ({p_words(self._evidence)}), not so in {again} more trials", pool
        )

    def _better(self, again: int) -> str:
        if self._evidence == 0.5:
            return f"a tie in all {self._rounds + again} trials, and the skill is shorter"
        trials = f"{self._rounds} {'trial' if self._rounds == 1 else 'trials'}"
        return f"better in {trials} ({p_words(self._evidence)}), and in {again} more that decided nothing"

    def _confirmed(self, task: Task, pool: Pool) -> bool:
        return bool(self.base.valid(task.id, self.pool.trials) and self.candidate.valid(task.id, pool.trials))

    def _means(self, pairs: Sequence[Task], pool: Pool | None) -> tuple[float | None, float | None]:
        """The current skill by its pool; the candidate by the trials that decided nothing, or else by all."""
        return (
            self.base.mean(pairs, self.pool.trials),
            self.candidate.mean(pairs, pool.trials if pool else None),
        )

    def _enough(self, n: int, of: int) -> bool:
        return self.base.selection.rule.enough(n, of)

    def _indecisive(self, n: int, asked: Sequence[Task], pool: Pool | None = None) -> Verdict:
        need = max(1, self.base.selection.rule.least(len(asked)))
        words = f"only {n} of {len(asked)} tasks are valid under both skills, {need} are needed: nothing decided"
        return self._end("indecisive", words, pool)

    def _note(self, reason: str) -> None:
        """Remember what was known at a look that ends nothing."""
        pairs = paired(self.base, self.candidate, self.tasks)
        look = Look(
            trials=self._rounds,
            tasks=len(self._asked),
            attempts=sum(self._attempts),
            before=self.base.mean(pairs),
            after=self.candidate.mean(pairs),
            evidence=self._evidence,
            reason=reason,
        )
        self._looks.append(look)

    def _end(self, ruling: Ruling, reason: str, pool: Pool | None = None) -> Verdict:
        """The verdict, with every figure."""
        self._note(reason)
        pairs = paired(self.base, self.candidate, self.tasks)
        if pool is not None:
            pairs = [task for task in pairs if self._confirmed(task, pool)]
        before, after = self._means(pairs, pool)
        trials = pool.trials if pool else None
        fixed, broken = changed(self.base, self.candidate, pairs)
        current = self.base.mean(self.tasks, self.pool.trials)
        return Verdict(
            ruling=ruling,
            before=before,
            after=after,
            delta=None if before is None or after is None else after - before,
            n=len(pairs),
            of=len(self._asked),
            fixed=fixed,
            broken=broken,
            rule=self._words(before, after, len(pairs), reason),
            standard_error=standard_error(samples(self.base, self.candidate, pairs)),
            evidence=self._evidence,
            before_trials=self.base.most(pairs, self.pool.trials),
            after_trials=self.candidate.most(pairs, trials),
            looks=tuple(self._looks),
            rows=table(self.base, self.candidate, self._asked),
            before_attempts=self._attempts[0],
            after_attempts=self._attempts[1],
            current=after if ruling == "accepted" else current,
            measured=self.candidate.measured(self._asked, trials),
            base_pool=Pool(self.pool.first, self.pool.count, self.pool.fresh + self._fresh),
            candidate_pool=pool or Pool(),
        )

    def _words(self, before: float | None, after: float | None, n: int, reason: str) -> str:
        if before is None or after is None:
            return reason
        metric, asked, all_tasks = self.base.selection.rule.metric, len(self._asked), len(self.tasks)
        where = f"{n} of {all_tasks} tasks"
        if asked < all_tasks:
            some = f"the {asked}" if n == asked else f"{n} of the {asked}"
            where = f"{some} of {all_tasks} tasks that decide it"
        return f"{metric} {before:.3f} -> {after:.3f} on {where}: {reason}"
