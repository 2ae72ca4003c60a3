"""The plugin in somebody else's test suite: run by a real pytest of its own."""

import pytest

from compose.cache import cache_root

pytest_plugins = ["pytester"]
CACHE = cache_root()

SUITE = """
import pytest
pytestmark = pytest.mark.kafka(brokers=1)
seen = []

def test_breaks_everything_and_leaves_it_so(kafka_cluster):
    from kafka_trial import Latency, Link
    seen.append(kafka_cluster.folder)
    kafka_cluster.broken(Latency(ms=1), Link("client", 1)).__enter__()
    kafka_cluster.kill(1)

def test_gets_the_same_cluster_and_healthy(kafka_cluster):
    from kafka_trial import Link
    assert seen == [kafka_cluster.folder]
    assert kafka_cluster.view.brokers() == {1}
    assert kafka_cluster.links.faults_on(Link("client", 1)) == []

def test_gets_its_own(fresh_cluster):
    assert fresh_cluster.folder not in seen
    assert False, "so that its logs are kept"
"""


@pytest.fixture(autouse=True)
def own_state(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """pytester moves HOME; the cache stays where it is, or each test would download Kafka."""
    monkeypatch.setenv("KAFKA_TRIAL_CACHE", str(CACHE))
    monkeypatch.setenv("KAFKA_TRIAL_STATE", str(pytester.path / "state"))


def test_fixtures_share_heal_and_keep_the_logs_of_a_failure(pytester: pytest.Pytester):
    pytester.makepyfile(SUITE)

    result = pytester.runpytest_subprocess("--kafka-provider", "processes", "--trial-runs", "runs", "-v")

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*broker logs are in runs/*/test_gets_its_own*"])
    assert "DeprecationWarning" not in result.stdout.str(), "our libraries' warnings are not the user's"
    [log] = pytester.path.glob("runs/*/test_gets_its_own/node-1.log")
    assert "Kafka Server started" in log.read_text()
    assert [entry.name for entry in (pytester.path / "state").iterdir() if not entry.name.startswith(".")] == []


def test_the_version_can_be_chosen_and_a_wrong_one_is_named(pytester: pytest.Pytester):
    pytester.makepyfile("def test_it(fresh_cluster): pass")

    result = pytester.runpytest_subprocess("--kafka-version", "1.0")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*Kafka version '1.0' is not known*"])


def test_container_tests_are_skipped_with_a_reason_or_fail_where_docker_was_promised(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{pytester.path}/none.sock")
    monkeypatch.delenv("KAFKA_TRIAL_REQUIRE_DOCKER", raising=False)
    pytester.makepyfile("import pytest\n@pytest.mark.containers\ndef test_it(): pass")

    skipped = pytester.runpytest_subprocess("-rs")
    monkeypatch.setenv("KAFKA_TRIAL_REQUIRE_DOCKER", "1")
    promised = pytester.runpytest_subprocess()

    skipped.assert_outcomes(skipped=1)
    skipped.stdout.fnmatch_lines(["*Docker does not answer at unix://*"])
    promised.assert_outcomes(errors=1)


def test_a_failing_trial_prints_its_verdict_and_names_the_run_folder(pytester: pytest.Pytester):
    pytester.makepyfile(
        "def test_it(trial):\n"
        "    result = trial('idempotence', idempotence='off', records='20')\n"
        "    assert result.found == {'duplicate': 20}, result\n"
        "    assert result.passed, result\n"
    )

    result = pytester.runpytest_subprocess("--kafka-provider", "processes", "--trial-runs", "runs", "-v")

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*FAIL  idempotence*", "*duplicate*20 records are in the log more than once*"])
    for line in ("*kafka-trial: it bites: client*", "*run  runs/*/idempotence/*"):
        result.stdout.fnmatch_lines([line])
    assert len(list(pytester.path.glob("runs/*/idempotence/*/report.html"))) == 1
