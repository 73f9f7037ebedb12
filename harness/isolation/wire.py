"""Messages between pytest, the zygote and its children: length-prefixed pickles over a Unix socket.

All ends are processes of one run, on one machine, of one user; nothing else can reach the sockets.
"""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any

_LENGTH = struct.Struct("!Q")
_LONGEST = 2**32  # bytes; a length read out of a text or of noise is larger


def send(connection: socket.socket, message: Any, descriptors: tuple[int, ...] = ()) -> None:
    """Sends a message, and with it open file descriptors. Raises OSError when the other end is gone."""
    body = pickle.dumps(message)
    head = _LENGTH.pack(len(body))
    if descriptors:
        socket.send_fds(connection, [head], list(descriptors))
        connection.sendall(body)
        return
    connection.sendall(head + body)


def receive(connection: socket.socket) -> Any:
    """The next message. Raises EOFError when the other end is gone, TimeoutError past the socket's timeout,
    ValueError where what arrives is no message."""
    (length,) = _LENGTH.unpack(_exactly(connection, _LENGTH.size))
    if length > _LONGEST:
        raise ValueError(f"no message has {length} bytes")
    return pickle.loads(_exactly(connection, length))


def receive_with_descriptors(connection: socket.socket, most: int = 1) -> tuple[Any, list[int]]:
    """The next message and the file descriptors that came with it."""
    head, descriptors, _, _ = socket.recv_fds(connection, _LENGTH.size, most)
    head += _exactly(connection, _LENGTH.size - len(head), at_start=not head)
    (length,) = _LENGTH.unpack(head)
    return pickle.loads(_exactly(connection, length)), list(descriptors)


def _exactly(connection: socket.socket, count: int, at_start: bool = False) -> bytes:
    if at_start:
        raise EOFError("the other end closed the connection")
    parts: list[bytes] = []
    while count:
        part = connection.recv(min(count, 1 << 20))
        if not part:
            raise EOFError("the other end closed the connection")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
