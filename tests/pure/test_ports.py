"""Ports: free when chosen, ours while held, and named when somebody else has them."""

import socket

import pytest

from compose.ports import PortReservations
from kernel.errors import UsageError


@pytest.fixture
def reserved():
    reservations = PortReservations()
    yield reservations
    reservations.release()


def test_a_held_port_is_given_to_nobody_but_can_be_listened_on(reserved: PortReservations):
    port = reserved.free()

    with socket.socket() as stranger, pytest.raises(OSError, match="in use"):
        stranger.bind(("127.0.0.1", port))
    with socket.create_server(("127.0.0.1", port)) as broker:  # create_server allows address reuse, as Java and Go do
        assert broker.getsockname()[1] == port


def test_two_clusters_never_share_a_port(reserved: PortReservations):
    other = PortReservations()
    taken = {reserved.free() for _ in range(50)}

    assert not taken & {other.free() for _ in range(50)}
    other.release()


def test_a_port_in_use_is_named_with_its_user(reserved: PortReservations):
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(UsageError, match=rf"port {port} is in use by .* \(process \d+\): choose another --port"):
            reserved.exactly(port)


def test_a_released_port_is_free_again(reserved: PortReservations):
    port = reserved.free()
    reserved.release()

    with socket.socket() as anybody:
        anybody.bind(("127.0.0.1", port))
