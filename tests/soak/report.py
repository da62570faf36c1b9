"""What a soak came to, for people and for the results file."""

from __future__ import annotations

from tests.benchmarks.results import Result
from tests.soak.soak import Outcome


def results_of(outcome: Outcome) -> dict[str, Result]:
    """`soak.*`."""
    tally, warm, end = outcome.tally, outcome.warm, outcome.end
    figures = {
        "soak.attempts": (tally.attempts, "attempts", f"{outcome.calm} of them in the last incarnation"),
        "soak.accepted_steps": (tally.accepted, "steps", f"in git once; {tally.overtaken} overtaken by a person"),
        "soak.commits": (tally.commits, "commits", f"{tally.again} made again on a person's version"),
        "soak.runs": (tally.runs, "runs", ""),
        "soak.kills": (outcome.kills, "kills", f"{outcome.starts} starts"),
        "soak.acts": (outcome.acts.total(), "acts", ""),
        "soak.provider_faults": (sum(outcome.provider.values()) - outcome.provider["requests"], "faults", ""),
        "soak.faults": (len(outcome.faults), "faults", "must be 0"),
        "soak.minutes": (outcome.wall_s / 60, "min", ""),
    }
    results = {name: Result(float(value), unit, 1, note) for name, (value, unit, note) in figures.items()}
    if warm is not None and end is not None:
        results["soak.rss_warm_mb"] = Result(warm.rss_mb, "MB", 1)
        results["soak.rss_end_mb"] = Result(
            end.rss_mb, "MB", 1, f"{end.rss_mb / warm.rss_mb:.3f} of that after warm-up"
        )
        note = f"{warm.descriptors} after warm-up"
        results["soak.descriptors_end"] = Result(end.descriptors, "open", 1, note)
    return results


def acts_table(outcome: Outcome) -> str:
    """Which acts and which faults there were."""
    acts = ", ".join(f"{name} {count}" for name, count in sorted(outcome.acts.items()))
    faults = ", ".join(f"{name} {count}" for name, count in sorted(outcome.provider.items()))
    lines = [f"seed {outcome.plan.seed}", f"acts: {acts}", f"provider: {faults}"]
    if outcome.left_out:
        lines.append(f"left out: the project in Docker and engine restarts ({outcome.left_out})")
    return "\n".join(lines)
