"""`make run`: start a server on loopback, rewrite an e-mail over gRPC with the demo model, stop it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from redraft.cli.edit import EditOptions, run_edit

INSTRUCTION = "Correct the spelling."
_READY = re.compile(r"serving .* on (\S+)")


def main(document: Path) -> int:
    """Returns the edit's exit code, or 1 if the server does not come up."""
    command = [sys.executable, "-m", "redraft", "serve", "--listen", "127.0.0.1:0", "--no-socket"]
    print("starting the server with the demo model (the first start converts it: about half a minute) …")  # noqa: T201
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            address = _wait_ready(server)
            if address is None:
                return 1
            print(f"instruction: {INSTRUCTION}\n", flush=True)  # noqa: T201
            code = run_edit(EditOptions(str(document), INSTRUCTION, server=address))
        finally:
            server.terminate()
    print("\nThis is a small demo model (135M). A better one: redraft serve --model HUB_ID_OR_FOLDER")  # noqa: T201
    return code


def _wait_ready(server: subprocess.Popen[str]) -> str | None:
    for line in server.stderr or ():
        match = _READY.search(line)
        if match:
            return match[1]
        sys.stderr.write(line)
    return None


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
