"""The command line as a person or a script meets it: real processes, real output, real exit codes."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

TRIAL = str(Path(sys.executable).parent / "kafka-trial")


def trial(*words: str, timeout: float = 120, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [TRIAL, *words], capture_output=True, text=True, check=False, timeout=timeout, env=os.environ | environment
    )


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KAFKA_TRIAL_STATE", str(tmp_path / "state"))
    return tmp_path / "state"


def nothing_left(state: Path) -> bool:
    return not [entry for entry in state.glob("*") if not entry.name.startswith(".")]


def test_up_stays_prints_how_to_get_in_and_ends_cleanly_on_ctrl_c(own_state: Path):
    up = subprocess.Popen(
        [TRIAL, "up", "--brokers", "1", "--security", "sasl_ssl", "--provider", "processes"],
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # as a person's shell starts it
    )
    assert up.stdout is not None
    printed = ""
    while "Ctrl-C ends it." not in printed:
        line = up.stdout.readline()
        assert line, printed
        printed += line

    properties = next(word for word in printed.split() if word.endswith("librdkafka.properties"))
    settings = dict(line.split("=", 1) for line in Path(properties).read_text().splitlines())
    assert list(AdminClient(settings).list_topics(timeout=20).brokers) == [1]
    assert settings["sasl.password"] not in printed
    assert "service:jmx:rmi:///jndi/rmi://127.0.0.1:" in printed
    assert "toxiproxy  http://127.0.0.1:" in printed

    up.send_signal(signal.SIGINT)
    assert up.wait(timeout=30) == 130
    assert nothing_left(own_state)


def test_a_detached_cluster_is_seen_by_status_and_ended_by_down(own_state: Path):
    started = trial("up", "--brokers", "1", "--detach", "--json", "--provider", "processes")
    assert started.returncode == 0, started.stderr
    facts = json.loads(started.stdout)
    try:
        assert f"{facts['cluster']}  healthy, 1 brokers" in trial("status").stdout
        [row] = json.loads(trial("status", "--json").stdout)
        assert (row["owner"], row["bootstrap"]) == ("detached", facts["bootstrap"])
        for daemon, file in facts["daemons"].items():
            assert trial(daemon, "--config", file, "--check").returncode == 0, "a file that comes with the cluster"
    finally:
        ended = trial("down")
    assert (ended.returncode, ended.stdout) == (0, f"Removed {facts['cluster']}.\n")
    assert nothing_left(own_state)
    assert trial("status").stdout == "No cluster runs here. Start one with: kafka-trial up\n"


def test_a_second_cluster_does_not_sweep_a_detached_one(own_state: Path):
    first = json.loads(trial("up", "--brokers", "1", "--detach", "--json", "--provider", "processes").stdout)["cluster"]
    second = json.loads(trial("up", "--brokers", "1", "--detach", "--json", "--provider", "processes").stdout)["cluster"]
    try:
        ambiguous = trial("down")
        assert ambiguous.returncode == 2
        assert "there are 2 clusters" in ambiguous.stderr
        assert trial("down", first).returncode == 0
        assert [row["cluster"] for row in json.loads(trial("status", "--json").stdout)] == [second]
    finally:
        trial("down", "--all")
    assert nothing_left(own_state)


def test_the_demo_passes_and_says_so(own_state: Path, tmp_path: Path):
    demo = trial("demo", "--provider", "processes", "--runs", str(tmp_path / "runs"), timeout=200)

    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert demo.stdout.lstrip().startswith("PASS  leader-election"), demo.stdout
    assert "acknowledged, 0 lost" in demo.stdout
    [report] = (tmp_path / "runs").glob("*/*/*/report.html")
    assert f"report  {report}" in demo.stdout
    assert nothing_left(own_state)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["up", "--kafka", "newest"], 2, "Kafka version 'newest' is not known"),
        (["up", "--provider", "vagrant"], 2, "provider 'vagrant' is not known: choose one of auto, processes, containers."),
        (["up", "--brokers", "12"], 2, "brokers 12 is out of range: choose 1 to 5."),
        (["up", "--security", "none"], 2, "security 'none' is not known: choose one of plaintext, tls, sasl_ssl."),
        (["up", "--config", "num.io.threads"], 2, "config 'num.io.threads' has no value: give KEY=VALUE."),
        (["up", "--config", "node.id=7"], 2, "config 'node.id' cannot be set: the cluster plan decides it."),
        (["down", "nobody"], 2, "cluster 'nobody' does not exist: known are none."),
        (["fetch", "--where", "moon"], 2, "part 'moon' is not known: choose kafka, toxiproxy, spark-kafka or mirror."),
    ],
)
def test_bad_input_is_one_sentence_and_starts_nothing(own_state: Path, words: list[str], code: int, sentence: str):
    refused = trial(*words)

    assert (refused.returncode, refused.stdout) == (code, "")
    assert refused.stderr.startswith(f"kafka-trial: {sentence}")
    assert len(refused.stderr.strip().splitlines()) == 1
    assert nothing_left(own_state)


def test_a_port_in_use_is_named(own_state: Path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        refused = trial("up", "--brokers", "1", "--port", str(port), "--provider", "processes")

    assert refused.returncode == 2
    assert f"port {port} is in use by" in refused.stderr
    assert nothing_left(own_state)


def test_a_chosen_port_is_the_one_clients_use():
    from compose.ports import PortReservations

    port = (search := PortReservations()).free()
    search.release()
    facts = json.loads(trial("up", "--brokers", "1", "--port", str(port), "--detach", "--json").stdout)
    try:
        assert facts["bootstrap"] == f"127.0.0.1:{port}"
    finally:
        trial("down", "--all")


def test_a_damaged_jar_is_named_and_fetch_again_mends_it(tmp_path: Path, own_state: Path):
    from compose.cache import cache_root

    cache = tmp_path / "cache"
    for part in ("kafka/4.3.1", "toxiproxy", "storage/4.3.1-default"):
        shutil.copytree(cache_root() / part, cache / part)
    jar = cache / "kafka" / "4.3.1" / "kafka-clients-4.3.1.jar"
    jar.write_bytes(jar.read_bytes()[:-1] + b"?")

    refused = trial("up", "--brokers", "1", "--provider", "processes", KAFKA_TRIAL_CACHE=str(cache))

    assert refused.returncode == 4
    assert "kafka-clients-4.3.1.jar in the cache at" in refused.stderr
    assert "run `kafka-trial fetch --kafka 4.3.1 --again`" in refused.stderr
    assert nothing_left(own_state)
    mended = trial("fetch", "--again", "--where", "kafka", KAFKA_TRIAL_CACHE=str(cache), timeout=300)
    assert mended.returncode == 0, mended.stderr
    assert jar.read_bytes() == (cache_root() / "kafka" / "4.3.1" / jar.name).read_bytes()


def test_without_a_jdk_and_without_docker_doctor_and_up_say_what_to_install(tmp_path: Path, own_state: Path):
    bare = {"PATH": str(tmp_path), "DOCKER_HOST": f"unix://{tmp_path}/none.sock", "JAVA_HOME": ""}

    doctor, up = trial("doctor", **bare), trial("up", **bare)

    assert doctor.returncode == 4
    assert "--  java           no java on the PATH: install a JDK 17 or newer" in doctor.stdout
    assert "--  docker         Docker does not answer at unix://" in doctor.stdout
    assert "No cluster can run here yet" in doctor.stdout
    assert up.returncode == 4
    assert up.stderr.startswith("kafka-trial: no java on the PATH: install a JDK 17 or newer")


def test_an_old_jdk_is_named(tmp_path: Path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    (tmp_path / "release").write_text('JAVA_VERSION="11.0.2"\n')

    refused = trial("up", JAVA_HOME=str(tmp_path))

    assert refused.returncode == 4
    assert "is version 11.0.2, but Kafka needs 17" in refused.stderr


def test_a_docker_that_does_not_answer_is_named(tmp_path: Path):
    refused = trial("up", "--provider", "containers", DOCKER_HOST=f"unix://{tmp_path}/none.sock")

    assert refused.returncode == 4
    assert refused.stderr.startswith("kafka-trial: Docker does not answer at unix://")


def test_a_full_disk_is_one_sentence(tmp_path: Path):
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", small], check=True)
    try:
        refused = trial("up", "--brokers", "1", "--provider", "processes", KAFKA_TRIAL_STATE=str(small / "state"))
        fetched = trial("fetch", "--where", "kafka", KAFKA_TRIAL_CACHE=str(small / "cache"), timeout=200)
    finally:
        subprocess.run(["umount", small], check=True)

    assert refused.returncode == 4
    assert "MB are free on the disk that holds" in refused.stderr
    assert "point KAFKA_TRIAL_STATE to another disk" in refused.stderr
    assert fetched.returncode == 4
    assert "full" in fetched.stderr or "No space left" in fetched.stderr
    assert len(fetched.stderr.strip().splitlines()) == 2, "one line of progress and one sentence"


def test_doctor_is_content_with_this_machine():
    doctor = trial("doctor", "--json")

    assert doctor.returncode == 0, doctor.stdout
    assert "processes" in json.loads(doctor.stdout)["providers"]
    assert json.loads(doctor.stdout)["findings"]["Kafka 4.3.1"]["ok"]


def test_help_tells_the_exit_codes():
    assert "0 pass, 1 fail, 2 wrong usage, 3 inconclusive, 4 our own" in trial("--help").stdout.replace("\n  ", " ")
    assert trial("up", "--brokers", "many").returncode == 2
