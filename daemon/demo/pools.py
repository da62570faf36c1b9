"""Made-up words the demo's workbooks are filled with."""

from __future__ import annotations

REGIONS = (
    "North America", "South America", "Western Europe", "Eastern Europe", "Middle East", "North Africa",
    "South Asia", "East Asia", "Pacific",
)  # fmt: skip
SHORT = {
    "North America": "N. Am.", "South America": "S. Am.", "Western Europe": "W. Eur.", "Eastern Europe": "E. Eur.",
    "Middle East": "Mid. E.", "North Africa": "N. Afr.", "South Asia": "S. Asia", "East Asia": "E. Asia",
}  # fmt: skip
"""Abbreviations of regions."""
CITIES = ("Lisbon", "Porto", "Graz", "Bergen", "Tampere", "Ghent", "Lyon", "Cork", "Gdansk", "Malaga", "Turin")
STATUSES = ("Open", "Closed", "Waiting", "Blocked", "In review", "Done", "Rejected", "On hold", "New")
CODES = tuple(f"{letters}-{number}" for letters in ("Ka", "Lo", "Mi", "Pe") for number in (11, 24, 37, 52, 68))
WORDS = (
    "Bolt", "Bracket", "Cable", "Clamp", "Filter", "Gasket", "Hinge", "Lamp", "Motor", "Nozzle", "Panel", "Pump",
    "Sensor", "Spring", "Switch", "Valve",
)  # fmt: skip
PEOPLE = (
    "Ada Novak", "Ben Okafor", "Carla Mendes", "Dev Patel", "Elin Berg", "Farid Haddad", "Grace Lin", "Hugo Silva",
    "Ines Costa", "Jonas Weber", "Kira Sato", "Liam Walsh",
)  # fmt: skip
NOTES = ("Prepared by the office", "Figures are not rounded", "Questions go to the front desk")
BOOKS = ("orders", "sales", "stock", "quarter", "branch", "monthly", "review", "plan")
