"""One circuit for each provider and key."""

from __future__ import annotations

from pathlib import Path

from daemon.config import load_config
from daemon.service.circuits import Circuits
from harnesses.outcome import Outcome
from tests.unit.service.test_projects import GOOD


def of(circuits: Circuits, folder: Path, target: str, optimizer: str = "") -> tuple[str, ...]:
    """Names of the target's and the optimizer's circuit."""
    folder.mkdir(exist_ok=True)
    head, tail = GOOD.format(skill="pdf").split("[optimizer]\n")
    (folder / "honed.toml").write_text(f"{head}{target}\n[optimizer]\n{tail}{optimizer}\n")
    found = circuits.of(load_config(folder / "honed.toml"))
    return found["target"].name, found["optimizer"].name


def test_projects_that_pay_the_same_provider_share_its_circuit(tmp_path: Path) -> None:
    circuits = Circuits()
    assert len({*of(circuits, tmp_path / "a", ""), *of(circuits, tmp_path / "b", "")}) == 1
    assert len(circuits.all()) == 1


def test_two_servers_of_one_machine_are_two_providers(tmp_path: Path) -> None:
    circuits = Circuits(clock=lambda: 0.0)
    names = of(circuits, tmp_path, 'base_url = "http://127.0.0.1:8000/v1"', 'base_url = "http://127.0.0.1:8001/v1"')
    assert len(set(names)) == 2
    config = load_config(tmp_path / "honed.toml")
    circuits.of(config)["target"].note(Outcome.AUTH, 0.0)
    assert [circuit.admits(0.0) for circuit in circuits.of(config).values()] == [False, True]
    assert "127.0.0.1:8000" in circuits.all()[0].reason
