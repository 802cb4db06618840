"""A TCP proxy in user space that treats connections badly on demand: for tests of what a network does."""

import random
import select
import socket
import struct
import threading
import time


class TcpProxy:
    """Listens on a loopback port and forwards to `target` (a port there). Use as a context manager."""

    def __init__(self, target):
        self.target = target
        self.stalled = threading.Event()  # bytes stay where they are, connections stay open
        self.delay_seconds = 0.0  # before bytes are passed on
        self.connections = 0
        self._pairs = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._threads = []

    def __enter__(self):
        self._start(self._accept)
        return self

    def __exit__(self, *_):
        self._closing.set()
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join()

    def _start(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _accept(self):
        while not self._closing.is_set():
            readable, _, _ = select.select([self._listener], [], [], 0.1) if self._listener.fileno() >= 0 else ([], [], [])
            if not readable:
                continue
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self.target), timeout=10)
            except OSError:
                continue
            self.connections += 1
            pair = (client, server)
            with self._lock:
                self._pairs.add(pair)
            self._start(self._pump, pair)

    def _pump(self, pair):
        client, server = pair
        try:
            while not self._closing.is_set():
                if self.stalled.is_set():
                    time.sleep(0.005)
                    continue
                readable, _, _ = select.select(pair, [], [], 0.05)
                for source in readable:
                    data = source.recv(65536)
                    if not data:
                        return
                    if self.delay_seconds > 0:
                        time.sleep(self.delay_seconds)
                    (server if source is client else client).sendall(data)
        except (OSError, ValueError):
            pass  # it was cut
        finally:
            self._close(pair)

    def _close(self, pair):
        with self._lock:
            self._pairs.discard(pair)
        for end in pair:
            end.close()

    def cut(self, reset=False):
        """Ends every connection, in the middle of whatever it carries; with a reset instead of an orderly end."""
        with self._lock:
            pairs = list(self._pairs)
        for pair in pairs:
            for end in pair:
                try:
                    if reset:
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    else:
                        end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
                if reset:
                    end.close()

    def treat_badly(self, seconds, seed):
        """Stalls, delays, cuts and resets at random for a while."""
        randomness = random.Random(seed)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            kind = randomness.choice(("stall", "delay", "cut", "reset"))
            if kind == "stall":
                self.stalled.set()
                time.sleep(randomness.uniform(0.05, 0.5))
                self.stalled.clear()
            elif kind == "delay":
                self.delay_seconds = randomness.uniform(0.001, 0.03)
                time.sleep(0.2)
                self.delay_seconds = 0.0
            else:
                self.cut(reset=kind == "reset")
            time.sleep(randomness.uniform(0.05, 0.3))
