"""The configuration of jmx_exporter's Java agent, written from the catalogue: the same names, and nothing that is not used.

An include list, because an agent without one reads all of a broker's ten thousand attributes at every scrape. Rules from
the first character to the last, because jmx_exporter's own are found anywhere in a name and catch what they never meant.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from exporters.collectors.asks import patterns
from kernel.metrics import Kind, Metric

HEAD = """\
# Written by `kafka-trial catalogue agent-yaml` from the metric catalogue; change it there.
# A summary has its quantiles, _count and _mean: the agent cannot multiply, so the _sum that the exporter shows is
# _count times _mean here. What the agent exports of the JVM by itself is not repeated.
lowercaseOutputName: true
"""
QUANTILE = "(5|75|95|98|99|999)0?thPercentile"  # so that 0.$1 is the quantile as Prometheus writes it


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, with a word in it that may vary: rules that differ in nothing else become one, because the agent tries
    every rule on every attribute, and that is what its time goes into."""

    before: str  # regular expressions
    after: str
    name: str  # has {word} where the word goes
    kind: str
    factor: float = 1.0
    value: int | None = None
    labels: tuple[tuple[str, str], ...] = ()  # {1} for what the first of the bean's own groups holds
    words: tuple[str, ...] = field(default=(), compare=False)


def agent_yaml(metrics: Iterable[Metric]) -> str:
    ours = [metric for metric in metrics if metric.bean and not metric.native]
    lines = ["includeObjectNames:"]
    lines += [f"  - {_text(pattern)}" for pattern in dict.fromkeys(name for metric in ours for name in patterns(metric))]
    lines.append("rules:")
    merged: dict[Rule, list[str]] = {}
    for metric in ours:
        for rule in _rules(metric):
            merged.setdefault(rule, []).extend(rule.words)
    for rule, words in merged.items():
        lines += _entry(rule, words)
    return HEAD + "\n".join(lines) + "\n"


def _rules(metric: Metric) -> Iterator[Rule]:
    """The word that varies is the bean's name; of a bean without one, or with any, it is the attribute."""
    bean, groups = _bean(metric)
    labels = groups | dict(metric.fixed)
    kind = "COUNTER" if metric.kind is Kind.COUNTER else "GAUGE"
    if metric.kind is Kind.STATE:
        told = labels | {metric.word: f"{{{len(groups) + 1}}}"}
        yield Rule(f"{bean}{_escape(metric.attribute)}: (.+)$", "", metric.name, kind, 1.0, 1, tuple(told.items()))
        return

    def rule(attribute: str, name: str, more: dict[str, str] | None = None, factor: float = metric.factor) -> Rule:
        """`attribute`: a regular expression."""
        told = tuple((labels | (more or {})).items())
        fixed = metric.keys.get("name", "")
        word, begin = (
            (_core(fixed), bean.find("name=")) if fixed and not fixed.startswith("{") else (metric.attribute, len(bean))
        )
        whole = f"{bean}{attribute}: "
        at = whole.find(_escape(word), begin)
        if at < 0 or name.count(_snake(word)) != 1:
            return Rule(whole, "", name, kind, factor, None, told)
        after = whole[at + len(_escape(word)) :]
        return Rule(whole[:at], after, name.replace(_snake(word), "{word}"), kind, factor, None, told, (word,))

    if metric.kind is Kind.SUMMARY:
        yield rule(metric.attribute, f"{metric.name}_count", factor=1.0)
        yield rule("Mean", f"{metric.name}_mean")
        yield rule(QUANTILE, metric.name, {"quantile": f"0.{{{len(groups) + 1}}}"})
    else:
        yield rule(_escape(metric.attribute), metric.name)


def _core(name: str) -> str:
    """The part of a bean's name that is in the metric's name too."""
    return name.removesuffix("PerSec").removesuffix("Percent")


def _snake(word: str) -> str:
    """What the agent makes of a word in a name."""
    return re.sub(r"[^a-z0-9]", "_", word.lower())


def _bean(metric: Metric) -> tuple[str, dict[str, str]]:
    """How jmx_exporter writes the bean's name, as a regular expression; and which of its groups is which label."""
    pairs: list[str] = []
    labels: dict[str, str] = {}
    for key, value in metric.keys.items():
        if value.startswith("{"):
            label = value[1:-1]
            labels[label] = f"{{{len(labels) + 1}}}"
            chosen = metric.only.get(label)
            # A value in quotes may hold anything; one without holds no comma.
            values = f"({'|'.join(chosen)})" if chosen else '"?([^,>"]+)"?'
            pairs.append(f"{_escape(key)}={values}")
        else:
            pairs.append(f"{_escape(key)}={_escape(value)}")
    return f"^{_escape(metric.domain)}<{', '.join(pairs)}><>", labels


def _entry(rule: Rule, words: list[str]) -> list[str]:
    varies = len(words) > 1
    word = f"({'|'.join(map(_escape, words))})" if varies else "".join(map(_escape, words))
    place = _groups(rule.before) + 1  # of the word among the groups
    name = rule.name.format(word=f"${place}" if varies else "".join(map(_snake, words)))
    lines = [f"pattern: {_text(rule.before + word + rule.after)}", f"name: {_text(name)}"]
    if rule.value is not None:
        lines.append(f"value: {rule.value}")
    if rule.factor != 1.0:
        lines.append(f"valueFactor: {rule.factor}")
    lines.append(f"type: {rule.kind}")
    if rule.labels:
        lines.append("labels:")
        lines += [f"  {label}: {_text(_numbered(told, place if varies else 0))}" for label, told in rule.labels]
    if rule.value is None:  # rules that do not look at the value are remembered, which halves the time of a scrape
        lines.append("cache: true")
    return [f"  - {lines[0]}", *(f"    {line}" for line in lines[1:])]


def _groups(pattern: str) -> int:
    return re.compile(pattern).groups


def _numbered(told: str, word: int) -> str:
    """$2 for {1} if the group of the word stands before it."""
    return re.sub(r"\{(\d+)\}", lambda found: f"${int(found[1]) + (0 < word <= int(found[1]))}", told)


def _escape(word: str) -> str:
    return re.escape(word).replace("\\-", "-")  # which means nothing special outside brackets


def _text(value: str) -> str:
    """In single quotes, in which YAML leaves backslashes alone."""
    return "'" + value.replace("'", "''") + "'"
