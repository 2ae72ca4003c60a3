"""The stack's files fit together, before anything is started: images, ports, mounts, each configuration in its own words."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

import kafka_trial
from compose.images.needs import needs
from dashboards import build as built
from dashboards.alerts import build as rules
from dashboards.build import MOUNTED
from kafka_trial.cli.app import app
from kafka_trial.daemon.audit_config import AuditConfig
from kafka_trial.daemon.config_file import load
from kafka_trial.daemon.exporter_config import ExporterConfig
from kafka_trial.daemon.lag_config import LagConfig
from kafka_trial.daemon.probe_config import ProbeConfig
from tests.cluster.alertmanager import needed as needed_alertmanager
from tests.promtool import needed
from tests.stack import FILE, FOLDER, TOP, services, settings

MODELS = {"exporter": ExporterConfig, "lag-monitor": LagConfig, "probe": ProbeConfig, "audit": AuditConfig}
SERVICES = services()
DOCKERFILE = (TOP / "Dockerfile").read_text()
PROJECT = (TOP / "pyproject.toml").read_text()
# A name that ends in one of these words, and something behind it that is neither a path nor a variable.
SECRET = re.compile(r"(?i)(?:password|secret|token|api_?key)[\"']?\s*[:=]\s*[\"']?([A-Za-z0-9+_-]{6,})")


def argument(name: str) -> str:
    (value,) = re.findall(rf"^ARG {name}=(\S+)$", DOCKERFILE, flags=re.M)
    return str(value)


def config(daemon: str) -> Any:
    return load(FOLDER / "kafka-trial" / Path(SERVICES[daemon]["command"][2]).name, MODELS[daemon])


# ---- compose.yaml -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("service", SERVICES)
def test_every_image_is_pinned_and_can_be_replaced(service: str):
    name, _, tag = SERVICES[service]["image"].rpartition(":")

    assert name and re.search(r"\d+\.\d+", tag)
    assert SERVICES[service]["image"] in {value for key, value in settings().items() if key.endswith("_IMAGE")}


@pytest.mark.parametrize("service", SERVICES)
def test_every_service_has_a_limit_and_a_health_check(service: str):
    told = SERVICES[service]
    ours = told["image"].startswith("kafka-trial/") and "entrypoint" not in told  # a daemon: the image has the check

    assert told["mem_limit"]
    assert told["restart"] == ("no" if service == "setup" else "unless-stopped")
    assert ours or told["healthcheck"].get("test") or service == "setup"
    assert told["cap_drop"] == ["ALL"] and told["security_opt"] == ["no-new-privileges:true"]


def test_every_port_is_on_loopback_and_nobody_has_the_port_of_another():
    ports = [port for told in SERVICES.values() for port in told.get("ports", ())]

    assert ports and all(re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port) for port in ports)
    assert len({port.split(":")[1] for port in ports}) == len(ports) == len([s for s in settings() if s.endswith("_PORT")])


@pytest.mark.parametrize("service", SERVICES)
def test_whatever_is_mounted_from_here_is_there_and_cannot_be_written_to(service: str):
    mounted = [volume.split(":") for volume in SERVICES[service].get("volumes", ()) if volume.startswith(".")]

    assert [source for source, *_ in mounted if not (FOLDER / source).is_dir()] == []
    assert all(how == ["ro"] for _, _, *how in mounted)


def test_what_can_be_set_is_listed_beside_the_file_with_its_default():
    listed = dict(re.findall(r"^#([A-Z0-9_]+)=(.*)$", (FOLDER / ".env").read_text(), flags=re.M))

    assert listed == settings()


def test_no_secret_stands_in_any_file():
    files = [file for file in FOLDER.rglob("*") if file.is_file() and "dashboards" not in file.parts]
    found = {str(file): match[0] for file in (*files, TOP / "Dockerfile") if (match := SECRET.search(file.read_text()))}

    assert len(files) > 10
    assert found == {}
    assert SECRET.search('GF_SECURITY_ADMIN_PASSWORD: "hunter22"') and SECRET.search("api_key=0a1b2c3d")


@pytest.mark.parametrize("script", sorted(FOLDER.rglob("*.sh")), ids=lambda script: script.name)
def test_every_script_can_be_read_by_its_shell(script: Path):
    shell = script.read_text().splitlines()[0].rpartition("/")[2].split()[-1]

    assert subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False).stderr == ""


# ---- what each of them is told ------------------------------------------------------------------------------------


@pytest.mark.parametrize("daemon", MODELS)
def test_every_daemon_takes_its_file(daemon: str):
    words = SERVICES[daemon]["command"]
    file = FOLDER / "kafka-trial" / Path(words[2]).name

    checked = CliRunner().invoke(app, [words[0], "--config", str(file), "--check"])

    assert (words[0], words[1], checked.exit_code) == (daemon, "--config", 0), checked.output


@pytest.mark.parametrize("daemon", MODELS)
def test_every_daemon_is_scraped_and_published_where_it_listens(daemon: str):
    jobs = {
        job["job_name"]: job for job in yaml.safe_load((FOLDER / "prometheus/prometheus.yml").read_text())["scrape_configs"]
    }
    host, _, port = config(daemon).listen.partition(":")
    (target,) = jobs[daemon]["static_configs"]

    assert host == "0.0.0.0"
    assert target == {"targets": [f"{daemon}:{port}"], "labels": {"cluster": "stack"}}
    assert SERVICES[daemon]["ports"][0].endswith(f":{port}")
    # Who names clusters in its own series is believed; otherwise Prometheus would call that label exported_cluster.
    assert jobs[daemon].get("honor_labels", False) is (daemon in {"exporter", "lag-monitor"})


def test_the_cluster_has_one_name_and_the_brokers_are_those_of_the_file():
    brokers = [name for name in SERVICES if name.startswith("kafka-")]
    (exported,), (watched,) = config("exporter").clusters, config("lag-monitor").clusters

    assert exported.name == watched.name == "stack"
    assert list(exported.nodes.values()) == [f"http://{broker}:9404/metrics" for broker in brokers]
    told = {one.bootstrap for one in (watched.kafka, config("probe").kafka, config("audit").kafka)}
    told |= {SERVICES[demo]["environment"]["BOOTSTRAP"] for demo in ("demo-producer", "demo-consumer")}
    assert told == {",".join(f"{broker}:9092" for broker in brokers)}


def test_the_exporter_sees_the_disks_of_the_brokers_where_they_see_them():
    exporter = set(SERVICES["exporter"]["volumes"])

    assert all(f"kafka-{node}:/var/lib/kafka/{node}:ro" in exporter for node in (1, 2, 3))
    assert all(f"kafka-{node}:/var/lib/kafka/{node}" in SERVICES[f"kafka-{node}"]["volumes"] for node in (1, 2, 3))
    assert "log.dirs=$data" in (FOLDER / "kafka/start.sh").read_text()


def test_the_agents_rules_are_those_of_the_catalogue_for_what_the_exporter_asks():
    told = config("exporter").clusters[0].partitions
    printed = CliRunner().invoke(app, ["catalogue", "agent-yaml", "--partitions", told])

    mend = f"run: kafka-trial catalogue agent-yaml --partitions {told} > compose/stack/kafka/agent.yaml"
    assert printed.output == (FOLDER / "kafka/agent.yaml").read_text(), mend


def test_a_way_of_partitions_that_is_not_known_is_one_sentence():
    refused = CliRunner().invoke(app, ["catalogue", "agent-yaml", "--partitions", "all"])

    assert "'all': say one of off, topic, each" in str(refused.exception)


def test_prometheus_takes_its_file():
    words = [needed("promtool"), "check", "config", str(FOLDER / "prometheus/prometheus.yml")]
    checked = subprocess.run(words, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def amtool(file: Path) -> str:
    words = [str(Path(needed_alertmanager()).with_name("amtool")), "check-config", str(file)]
    checked = subprocess.run(words, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return checked.stdout


def test_alertmanager_takes_its_file():
    assert "1 receivers" in amtool(FOLDER / "alertmanager/alertmanager.yml")


def test_the_receivers_to_be_uncommented_are_right_too(tmp_path: Path):
    """What is a comment today, tried as what it will be; only sentences stay comments."""
    text = (FOLDER / "alertmanager/alertmanager.yml").read_text()
    uncommented = tmp_path / "alertmanager.yml"
    uncommented.write_text(re.sub(r"^( +)# ", r"\1", text, flags=re.M))

    assert "2 receivers" in amtool(uncommented)


def test_grafana_finds_the_dashboards_where_they_are_mounted():
    assert f"./grafana/dashboards:{MOUNTED}:ro" in SERVICES["grafana"]["volumes"]
    assert SERVICES["grafana"]["environment"]["GF_AUTH_ANONYMOUS_ENABLED"] == "false"


def test_grafana_sees_every_file_that_was_made_for_it_but_the_rules_which_prometheus_evaluates():
    mounted = {volume.split(":")[0] for volume in SERVICES["grafana"]["volumes"]}
    made = {f"./{file.parent.relative_to(FOLDER)}" for file in (FOLDER / "grafana").rglob("*") if file.is_file()}

    assert made - mounted == {"./grafana/alerting"}, "with both, everybody would be told twice"


@pytest.mark.parametrize("folder", ["grafana", ""])
def test_what_is_made_from_the_catalogue_is_as_it_would_be_made_now(folder: str):
    """`make generated` makes it."""
    made = built.files() if folder else rules.files()

    assert {name: (FOLDER / folder / name).read_text() for name in made} == made


# ---- the image ----------------------------------------------------------------------------------------------------


def test_the_image_has_the_version_of_the_sources():
    assert argument("VERSION") == kafka_trial.__version__
    assert SERVICES["exporter"]["image"] == f"kafka-trial/kafka-trial:{kafka_trial.__version__}"


def test_the_image_is_made_of_everything_that_is_shipped():
    wheel = tomllib.loads(PROJECT)["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    let_in = {line[1:] for line in (TOP / ".dockerignore").read_text().splitlines() if line.startswith("!")}

    assert let_in == {*wheel, "LICENSE", "README.md", "pyproject.toml", "requirements"}


def test_the_image_is_made_of_pinned_images_and_the_same_on_the_spot():
    build = (TOP / "compose/images/stack.sh").read_text()

    assert all(re.search(r":\d+\.\d+\.\d+-", argument(name)) for name in ("BASE", "BUILDER", "MAVEN"))
    assert argument("BASE") == argument("BUILDER")  # their Pythons must be one
    assert f"extras={argument('EXTRAS')}\n" in build and f"more={argument('MORE')}\n" in build
    assert re.search(r"^USER \d+:\d+$", DOCKERFILE, flags=re.M)


def test_what_the_image_installs_is_what_its_extras_name():
    extras = argument("EXTRAS").split(",")
    listed = needs(PROJECT, extras)

    assert any(need.startswith("prometheus-client") for need in listed) and any(need.startswith("typer") for need in listed)
    assert not any(need.startswith(("pyspark", "pytest")) for need in listed)
    assert len(set(listed)) == len(listed)


def test_an_extra_that_is_not_there_is_one_sentence():
    with pytest.raises(SystemExit, match=r"there is no extra 'lags': pyproject\.toml has .*lag"):
        needs(PROJECT, ["exporter", "lags"])


def test_one_command_is_the_same_everywhere():
    command = f"docker compose -f {FILE.relative_to(TOP)} up"

    assert all(command in text.read_text() for text in (FILE, TOP / "docs/stack.md"))
