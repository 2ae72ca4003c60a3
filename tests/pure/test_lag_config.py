"""The lag monitor's file and commands: what is right is taken, and what is wrong is one sentence that says what to do."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_trial.daemon.config_file import load
from kafka_trial.daemon.lag_building import burrow_settings, delete_token, plan_of
from kafka_trial.daemon.lag_config import LagConfig
from kernel.errors import SuiteError, UsageError
from lag_monitor.alerts.channels.alertmanager import Alertmanager
from lag_monitor.alerts.channels.email import Email
from lag_monitor.alerts.channels.slack import Slack
from lag_monitor.alerts.channels.webhook import Webhook
from lag_monitor.monitor import Monitor, Plan
from lag_monitor.verdict import Gravity

TRIAL = str(Path(sys.executable).parent / "kafka-trial")
RECORDED = Path(__file__).parent.parent / "data" / "burrow_recorded.json"
CLUSTER = '[[clusters]]\nname = "prod"\n[clusters.kafka]\nbootstrap = "127.0.0.1:1"\n'
HOOK = '[[channels]]\nname = "hook"\ntype = "webhook"\nurl = "http://127.0.0.1:1/x"\n'
ROUTE = '[[routes]]\nname = "all"\nchannels = ["hook"]\n'


def plan(folder: Path, text: str) -> Plan:
    return plan_of(config(folder, text), folder / "lag.toml")


def config(folder: Path, text: str) -> LagConfig:
    (folder / "lag.toml").write_text(text)
    return load(folder / "lag.toml", LagConfig)


def run(*words: str, **more: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([TRIAL, *words], capture_output=True, text=True, timeout=60, check=False, **more)


def test_the_smallest_file_watches_with_everything_at_its_default(tmp_path: Path):
    made = plan(tmp_path, CLUSTER)
    [watch] = made.watches

    assert (watch.name, watch.address.bootstrap, watch.sources) == ("prod", "127.0.0.1:1", ("admin", "offsets topic"))
    assert (watch.patience.interval, watch.patience.quiet, watch.patience.blind) == (10, 60, 40)
    assert (watch.burrow.intervals, watch.burrow.min_distance) == (10, 0)
    assert made.folder == tmp_path / "lag-state"
    assert made.instances is None and made.routes == ()


def test_a_whole_file_is_understood(tmp_path: Path):
    (tmp_path / "slack-address").write_text("https://hooks.example.test/T0/secret\n")
    (tmp_path / "word").write_text("s3cret\n")
    (tmp_path / "body.j2").write_text('{"text": {{ headline | tojson }}}')
    made = plan(
        tmp_path,
        'interval = 5\nstate_folder = "here"\n[judge]\nquiet = 20\n[burrow]\nintervals = 15\nallowed_lag = 3\n'
        + CLUSTER
        + '[[clusters.slo]]\ngroups = "^pay"\nseconds = 30\n'
        + '[[channels]]\nname = "hook"\ntype = "webhook"\nurl = "http://127.0.0.1:1/x"\ntemplate_file = "body.j2"\n'
        + '[[channels]]\nname = "chat"\ntype = "slack"\nurl_file = "slack-address"\n'
        + '[[channels]]\nname = "am"\ntype = "alertmanager"\nurl = "http://127.0.0.1:2"\ntoken_file = "word"\n'
        + '[[channels]]\nname = "post"\ntype = "email"\nserver = "127.0.0.1:25"\nsender = "lag@example.test"\n'
        + 'to = ["on-call@example.test"]\nlogin = { username = "lag", password_file = "word" }\n'
        + '[[routes]]\nname = "pay"\nchannels = ["chat", "post"]\nallow = "^pay"\nthreshold = "warning"\nafter = 60\n'
        + '[[silences]]\ngroups = "^batch"\nuntil = 2026-12-01T06:00:00Z\n[instances]\nshards = 4\n',
    )

    assert [type(one) for one in made.channels] == [Webhook, Slack, Alertmanager, Email]
    assert made.folder == tmp_path / "here"
    assert (made.routes[0].threshold, made.routes[0].after) == (Gravity.WARNING, 60)
    assert made.silences[0].until == 1796104800.0
    assert made.instances is not None and made.instances.shards == 4
    assert (made.watches[0].promised("payments"), made.watches[0].promised("other")) == (30, 0)
    assert "secret" not in repr(made) and "s3cret" not in repr(made)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "clusters is missing"),
        (CLUSTER + CLUSTER, "names the cluster 'prod' twice"),
        ("intervall = 3\n" + CLUSTER, "the key intervall is not known: choose one of listen"),
        (CLUSTER + '[[channels]]\ntype = "pigeon"\nname = "x"\n', "'pigeon' found using 'type' does not match"),
        (
            CLUSTER + HOOK + 'urll = "x"\n',
            "the key channels[0].webhook.urll is not known: choose one of name, url, url_file",
        ),
        (CLUSTER + '[[channels]]\nname = "x"\ntype = "slack"\n', "needs one of url, url_file and url_env"),
        (CLUSTER + HOOK + HOOK, "names the channel 'hook' twice"),
        (CLUSTER + ROUTE, "the route 'all' names the channel 'hook', which is not there"),
        (CLUSTER + HOOK + '[[routes]]\nname = "all"\nchannels = []\n', "at least 1"),
        (CLUSTER + HOOK + ROUTE + 'allow = "("\n', "not a regular expression"),
        (CLUSTER + "[[silences]]\nuntil = 2026-12-01T06:00:00\n", "does not say in which time zone: add Z or +02:00"),
        ("[judge]\nquiet = 15\n" + CLUSTER, "judge.quiet (15) is shorter than two intervals (10 each)"),
        ("[burrow]\nintervals = 0\n" + CLUSTER, "burrow.intervals = 0"),
        (CLUSTER + '[instances]\ncluster = "elsewhere"\n', "instances.cluster = 'elsewhere' is none of the clusters"),
        (CLUSTER + "[instances]\nsession = 1\n", "instances.session = 1"),
        (CLUSTER.replace('"prod"', '"prod"\nsources = ["zookeeper"]'), "sources[0] = 'zookeeper'"),
        (CLUSTER.replace('"prod"', '"prod"\nsources = []'), "at least 1"),
        ('listen = "8000"\n' + CLUSTER, "listen = '8000': not host:port"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, text: str, said: str):
    with pytest.raises(UsageError) as caught:
        plan(tmp_path, text)

    assert said in caught.value.message
    assert caught.value.message.startswith(str(tmp_path / "lag.toml")) and "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            CLUSTER + '[[channels]]\nname = "x"\ntype = "slack"\nurl_env = "NOT_SET_ANYWHERE"\n',
            "NOT_SET_ANYWHERE, which should",
        ),
        (CLUSTER + '[[channels]]\nname = "x"\ntype = "slack"\nurl = "ftp://x"\n', "not http:// or https://"),
        (CLUSTER + HOOK + 'template_file = "bad.j2"\n', "the template does not work"),
    ],
)
def test_what_could_never_be_sent_is_found_before_the_start(tmp_path: Path, text: str, said: str):
    (tmp_path / "bad.j2").write_text("{{ nothing_of_that_name }}")
    with pytest.raises(SuiteError) as caught:
        plan(tmp_path, text)

    assert said in caught.value.message and "\n" not in caught.value.message


def test_a_token_for_deleting_is_read_and_an_empty_one_refused(tmp_path: Path):
    (tmp_path / "token").write_text("let me\n")
    assert delete_token(config(tmp_path, 'delete_token_file = "token"\n' + CLUSTER)) == "let me"
    assert delete_token(config(tmp_path, CLUSTER)) == ""
    (tmp_path / "token").write_text("\n")
    with pytest.raises(UsageError, match="the token for deleting is empty"):
        delete_token(config(tmp_path, 'delete_token_file = "token"\n' + CLUSTER))


def test_what_burrow_shows_of_its_settings_holds_no_secret(tmp_path: Path):
    shown = burrow_settings(config(tmp_path, CLUSTER + HOOK))

    assert shown.notifiers == {"hook": {"class-name": "http"}}
    assert "127.0.0.1:1/x" not in repr(shown)


def test_a_state_folder_that_cannot_be_made_is_told_at_the_start(tmp_path: Path):
    (tmp_path / "lag-state").write_text("a file, and no folder")
    with pytest.raises(UsageError, match=r"state_folder .* cannot be made"):
        Monitor(plan(tmp_path, CLUSTER))


# ---- commands ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_recorded_cases_agree():
    done = run("lag", "replay", str(RECORDED))

    assert (done.returncode, done.stdout, done.stderr) == (0, "60 of 60 agree\n", "")


@pytest.mark.slow
def test_a_case_that_differs_is_listed_and_fails(tmp_path: Path):
    told = json.loads(RECORDED.read_text())
    told["recorded_cases"][3]["expect"]["total_lag"] += 1
    (tmp_path / "cases.json").write_text(json.dumps(told))
    done = run("lag", "replay", str(tmp_path / "cases.json"))
    as_json = run("lag", "replay", str(tmp_path / "cases.json"), "--json")

    assert done.returncode == as_json.returncode == 1
    first, last = done.stdout.splitlines()
    assert first.startswith(f"case {told['recorded_cases'][3]['id']}: total_lag is ") and "Burrow answered" in first
    assert last == "59 of 60 agree"
    assert json.loads(as_json.stdout)["agree"] == 59


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "there is no file"),
        ("{", "is not JSON"),
        ("[]", "holds no recorded_cases"),
        ('{"recorded_cases": []}', "holds no recorded_cases"),
        ('{"recorded_cases": [{"id": 1}]}', "does not hold recorded cases in the form we know"),
    ],
)
def test_a_file_that_holds_no_cases_is_told(tmp_path: Path, text: str | None, said: str):
    file = tmp_path / "cases.json"
    if text is not None:
        file.write_text(text)
    done = run("lag", "replay", str(file))

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.slow
def test_without_a_monitor_status_says_how_to_get_one():
    done = run("lag", "status", "--url", "http://127.0.0.1:1")

    assert (done.returncode, done.stdout) == (2, "")
    assert "no lag monitor answers at http://127.0.0.1:1: start one" in done.stderr


@pytest.mark.slow
def test_only_one_place_to_look_may_be_given(tmp_path: Path):
    done = run("lag", "status", "--bootstrap", "127.0.0.1:1", "--config", str(tmp_path / "x.toml"))

    assert done.returncode == 2
    assert "--bootstrap and --config both say where to look" in done.stderr


@pytest.mark.slow
def test_check_reads_everything_and_starts_nothing(tmp_path: Path):
    (tmp_path / "lag.toml").write_text(CLUSTER + HOOK + ROUTE)
    good = run("lag-monitor", "--config", str(tmp_path / "lag.toml"), "--check")
    (tmp_path / "lag.toml").write_text('delete_token_env = "NOT_SET_ANYWHERE"\n' + CLUSTER)
    bad = run("lag-monitor", "--config", str(tmp_path / "lag.toml"), "--check")

    assert good.returncode == 0
    assert good.stderr.strip() == f"{tmp_path / 'lag.toml'} is right: prod; 1 route to 1 channel."
    assert bad.returncode == 2 and "NOT_SET_ANYWHERE, which should hold a token, is not set" in bad.stderr
    assert not (tmp_path / "lag-state").exists()
    shutil.rmtree(tmp_path)
