"""An audit from beginning to end, once: what a report and its exit code stand on."""

import re
import time
from pathlib import Path

from interceptors.audit.auditor import Auditor
from interceptors.audit.reading import Reader
from interceptors.audit.reconcile import Patience
from kafka_trial.daemon.audit_config import AuditConfig
from kafka_trial.daemon.config_file import address_of, load
from kafka_trial.daemon.tables import is_host_port
from kernel.errors import NotReady, UsageError


def told_of(bootstrap: str | None, config: Path | None, topic: str | None, lateness: float | None) -> AuditConfig:
    if (bootstrap is None) == (config is None):
        raise UsageError("give either --bootstrap HOST:PORT or --config FILE, to say which cluster has the audit topic.")
    if topic is not None and not re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", topic):
        raise UsageError(f"--topic {topic!r} is no name of a topic: letters, digits, dots, underscores and hyphens.")
    if config is not None:
        wanted = load(config, AuditConfig)
    else:
        if not all(is_host_port(one.strip()) for one in str(bootstrap).split(",")):
            raise UsageError(f"--bootstrap {bootstrap!r} is not HOST:PORT, or several of them with commas between them.")
        wanted = AuditConfig.model_validate({"kafka": {"bootstrap": bootstrap}})
    changed = {"topic": topic, "lateness": lateness}
    return wanted.model_copy(update={key: value for key, value in changed.items() if value is not None})


def audited(wanted: AuditConfig, within: float) -> Auditor:
    """The whole topic, judged. Where something is late, the logs are asked for their ends, and it is judged again."""
    auditor = Auditor(Patience(int(wanted.lateness * 1000)), [flow.wanted for flow in wanted.flow])
    reader = Reader(address_of(wanted.kafka).librdkafka() | wanted.kafka.settings, wanted.topic, wanted.since_ms)
    try:
        deadline = time.monotonic() + within
        while not reader.at_end:
            for report, received_ms in reader.read(0.5):
                auditor.add(report, received_ms)
            if time.monotonic() > deadline and not reader.at_end:
                where = f"{wanted.topic} on {wanted.kafka.bootstrap}"
                what = "its end was not reached" if reader.up else "the cluster does not answer"
                raise NotReady(f"{where} was not read to its end in {within:g} s: {what}.")
        now_ms = time.time_ns() // 1_000_000
        auditor.judge(now_ms)
        if wanted.ask_log_ends and (late := sorted(auditor.late_places())):
            auditor.log_ends = reader.log_ends(late[:1000])
            auditor.judge(now_ms)
        return auditor
    finally:
        reader.close()
