"""The audit, which only keeps sketches, and the ledger, which keeps every record, on trial together.

Both hear the same traffic of a real scenario. They must agree: on exactly the records that were lost, and that none was.
"""

from pathlib import Path
from typing import Any

import pytest

from chaos.evidence.account import Account
from chaos.run import Wishes, plan, run
from compose.cluster import Cluster
from interceptors.audit.auditor import Auditor
from interceptors.audit.reconcile import Verdict
from kafka_trial.daemon.audit_config import AuditConfig
from kafka_trial.daemon.audit_once import audited

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(300)]
EXPOSED = 8  # few enough for the cells of one bucket to name them
AUDITED = {
    "interceptor.classes": "interceptors.audit.Audit",
    "interceptor.audit.every.ms": "500",
    "interceptor.audit.count": "read",  # the scenario's reader assigns itself its partition, and commits nothing
}


def tried(acks: str, folder: Path) -> tuple[dict[str, Any], Account, Auditor]:
    """The scenario's verdict, the ledger it stands on, and what the audit topic says."""
    wishes = Wishes("acks-exposure", {"acks": acks, "records": str(EXPOSED)}, seed=7, runs=folder, clients=AUDITED)
    with Cluster(plan(wishes).cluster) as cluster:
        run_folder, verdict = run(wishes, cluster=cluster)
        told = AuditConfig.model_validate({"kafka": {"bootstrap": cluster.address.bootstrap}, "lateness": 0.001})
        return verdict, Account.of(run_folder), audited(told, 60)


def test_audit_and_ledger_agree_on_exactly_the_lost_records(tmp_path):
    verdict, ledger, audit = tried("1", tmp_path)

    lost = {(sent.topic, sent.partition, sent.offset) for sent in ledger.sends if sent.value in ledger.lost}
    missed = [one for one in audit.judgements if one.missing]
    assert verdict["counts"]["lost-write"] == len(lost) == EXPOSED, verdict["reasons"]
    assert {(one.topic, one.partition, offset) for one in missed for offset in one.missing_offsets} == lost
    assert (sum(one.missing for one in missed), all(one.exact for one in missed)) == (EXPOSED, True)
    assert not any(one.extra for one in audit.judgements)
    assert {one.verdict for one in audit.judgements} == {Verdict.COMPLETE, Verdict.MISSING}
    assert sum(one.records for one in audit.judgements) == len([sent for sent in ledger.sends if sent.outcome == "ok"])


def test_audit_and_ledger_agree_that_nothing_is_lost(tmp_path):
    verdict, ledger, audit = tried("all", tmp_path)

    assert (verdict["verdict"], ledger.lost) == ("PASS", set()), verdict["reasons"]
    assert {one.verdict for one in audit.judgements} == {Verdict.COMPLETE}
    assert sum(one.records for one in audit.judgements) == len([sent for sent in ledger.sends if sent.outcome == "ok"])
