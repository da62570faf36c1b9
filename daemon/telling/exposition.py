"""The book of metrics written down for Prometheus, with the process's own figures: a registry of its own each time."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from daemon.telling.metrics import METRICS, Book, Metric

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4


class _Reading(Collector):
    def __init__(self, book: Book) -> None:
        self._book = book

    def collect(self) -> Iterable[Family]:
        for metric in METRICS:
            yield _heaps(metric, self._book) if metric.kind == "histogram" else _values(metric, self._book)


def registry_of(book: Book) -> CollectorRegistry:
    """A registry that reads this book and the process (memory, processor time, descriptors)."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Reading(book))
    ProcessCollector(registry=registry)
    return registry


def written(registry: CollectorRegistry) -> bytes:
    """The text that Prometheus reads."""
    return generate_latest(registry)


def _values(metric: Metric, book: Book) -> Family:
    kind = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=metric.labels)
    for labels, value in book.series(metric):
        family.add_metric(labels, value)
    return family


def _heaps(metric: Metric, book: Book) -> Family:
    family = HistogramMetricFamily(metric.name, metric.help, labels=metric.labels)
    bounds = [*(f"{bound:g}" for bound in metric.buckets), "+Inf"]
    for labels, heap in book.heaps.get(metric.name, {}).items():
        sums = zip(bounds, map(float, accumulate(heap.counts)), strict=True)
        family.add_metric(labels, list(sums), heap.total)
    return family
