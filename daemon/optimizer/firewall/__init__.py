"""The feedback firewall: gold, verifier source and held-out text neither reach the optimizer nor enter the skill.

Two gates: `Firewall.outgoing` cuts what goes to the optimizer, `Firewall.edit` and `Firewall.text` judge what
comes back.
"""

from daemon.optimizer.firewall.firewall import Firewall, Speaker
from daemon.optimizer.firewall.own import WITHHELD

__all__ = ["WITHHELD", "Firewall", "Speaker"]
