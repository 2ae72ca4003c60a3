"""Rights, certificates and passwords are changed while clients send: nothing is lost, refusals have names."""

import pytest

pytestmark = [pytest.mark.chaos, pytest.mark.timeout(400)]

TOLD = {"all refused": True, "a clear error": True, "none in the log": True, "none forgotten": True}


@pytest.mark.nightly
@pytest.mark.parametrize("security", ["sasl_ssl", "tls"])
def test_a_producer_that_loses_its_right_is_told_of_every_record(trial, security, monkeypatch):
    monkeypatch.setattr("chaos.scenarios.operations.principals.new_password", lambda: "correct-horse-battery")
    result = trial("acl-revoked", security=security)

    assert result.passed, result
    assert (result.expectations, result.found) == ({**TOLD, "goes on": True, "the other": True}, {}), result
    kept = [file for file in result.folder.rglob("*") if file.is_file()]
    assert [file for file in kept if b"correct-horse-battery" in file.read_bytes()] == [], "a password is in the evidence"


@pytest.mark.nightly
def test_with_acks_0_exactly_what_is_sent_without_a_right_is_lost_and_nobody_is_told(trial):
    result = trial("acl-revoked", acks="0", records="40")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.found == {"unseen-write": 40}, result
    assert result.expectations == {"silently lost": True, "goes on": True, "the other": True}, result


@pytest.mark.nightly
@pytest.mark.parametrize("security", ["sasl_ssl", "tls"])
def test_new_certificates_are_shown_to_newcomers_and_nobody_notices(trial, security):
    result = trial("certificate-rotation", security=security)

    assert result.passed, result
    assert result.found == {}, result
    assert set(result.expectations.values()) == {True}, result
    assert result.expectations.keys() == {
        "another name", "accepted", "newcomers", "restarts", "the others", "exactly newcomers", "nothing lost",
    }, result  # fmt: skip


@pytest.mark.nightly
def test_a_certificate_that_nobody_trusts_shuts_out_exactly_the_newcomers(trial):
    result = trial("certificate-rotation", authority="other")

    assert result.verdict["verdict"] == "FAIL", result
    assert result.verdict["reasons"] == ["Whoever connects anew is let in; _SSL."], result
    assert {name for name, holds in result.expectations.items() if not holds} == {"newcomers"}, result
    assert result.found == {}, result


@pytest.mark.nightly
def test_a_password_is_changed_and_nothing_is_lost(trial):
    result = trial("password-change")

    assert result.passed, result
    assert (result.expectations, result.found) == ({"goes on": True, "comes back": True, "nothing lost": True}, {}), result


@pytest.mark.nightly
def test_a_client_that_was_not_told_of_its_new_password_never_comes_back(trial):
    result = trial("password-change", told="no", records="40")

    assert result.verdict["verdict"] == "FAIL", result
    wanted = {"goes on": True, "comes back": False, "shut out": True, "nothing lost": True}
    assert (result.expectations, result.found) == (wanted, {}), result
