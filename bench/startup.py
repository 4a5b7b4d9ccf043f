"""How long commands take to start: `python bench/startup.py`. Run it twice: the first start converts the demo model."""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

from redraft.client import Client


def help_seconds() -> float:
    """`redraft --help`, from nothing to its end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "redraft", "--help"], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def serving_seconds(port: int) -> float:
    """`redraft serve`, from nothing to health SERVING."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "redraft", "serve", "--listen", f"127.0.0.1:{port}", "--no-socket"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as server:
        try:
            with Client(f"127.0.0.1:{port}") as client:
                client.wait_ready(600)
            return time.perf_counter() - began
        finally:
            server.terminate()


def main() -> None:
    """Print medians of five and three runs."""
    print(f"redraft --help: {median(help_seconds() for _ in range(5)):.2f} s")
    print(f"redraft serve to SERVING: {median(serving_seconds(50661 + run) for run in range(3)):.1f} s")


if __name__ == "__main__":
    main()
