"""Stands in for the hosts of docs/operation.md: PostgreSQL twice, the service, systemd, sudo."""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quietswap.sandbox.ports import free_port
from tests.databases import RedisServer, postgres_programs
from tests.deploy.files import ROOT
from tests.forked import without_settings

_OLDEST = 15
_SUDO = """#!/bin/bash
while [[ $1 == -* ]]; do [[ $1 == -u ]] && shift; shift; done
exec {as_postgres} env PGUSER=postgres "$@"
"""
_SYSTEMCTL = """#!/bin/bash
set -euo pipefail
unit=${{@: -1}} verb=$1 pid={folder}/service.pid
serve() {{
    quietswap migrate
    setsid "$(command -v quietswap)" serve >> {folder}/service.log 2>&1 < /dev/null &
    echo $! > "$pid"
}}
end() {{
    kill -TERM "$(cat "$pid")"
    while kill -0 "$(cat "$pid")" 2> /dev/null; do sleep 0.05; done
}}
database() {{
    sudo -u postgres pg_ctl --silent --wait --pgdata="$DATA" --log="$DATA.log" "$@" > /dev/null
}}
start="-h '' -k $PGHOST -c fsync=off"
case $unit:$verb in
    daemon-reload:*) ;;
    quietswap:start | quietswap:enable) serve ;;
    quietswap:stop) end ;;
    quietswap:restart) end; serve ;;
    quietswap:reload) kill -HUP "$(cat "$pid")" ;;
    postgresql:start) database -o "$start" start ;;
    postgresql:stop) database --mode=fast stop ;;
    postgresql:restart) database -o "$start" --mode=fast restart ;;
    *) exit 1 ;;
esac
"""


@dataclass(frozen=True, slots=True)
class Hosts:
    """A folder with what the hosts have, and the text of a page with its own paths."""

    folder: Path
    port: int
    variables: Mapping[str, str]
    places: Mapping[str, str]

    def data(self, host: str) -> Path:
        """Return the folder of a database host's data, beside which it listens."""
        return self.folder / host / "main"

    def run(self, host: str, lines: str, **more: str) -> str:
        """Run a block of the page on a host and return what it printed; it must succeed."""
        for text, own in self.places.items():
            lines = lines.replace(text, own)
        data = self.data(host if host.startswith("db") else "db1")
        for folder in ("/var/lib/postgresql/17", "/etc/postgresql/17"):
            lines = lines.replace(folder, str(data.parent))
        variables = {"DATA": str(data), "PGHOST": str(data.parent), **self.variables, **more}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", lines], cwd=self.folder, env=variables,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{lines}\n{done.stdout}\n{done.stderr}\n{self.log()[-2000:]}"
        return done.stdout

    def log(self) -> str:
        """Return what the service wrote."""
        file = self.folder / "service.log"
        return file.read_text("utf-8") if file.exists() else ""

    def install(self, release: str, sources: Path | None = None) -> None:
        """Put a release where `pip install` puts it: this one, or that of other sources."""
        program = self.folder / "opt" / f"quietswap-{release}" / "bin" / "quietswap"
        program.parent.mkdir(parents=True)
        path = f"PYTHONPATH={sources} " if sources else ""
        program.write_text(f'#!/bin/sh\n{path}exec {sys.executable} -m quietswap "$@"\n', "utf-8")
        program.chmod(0o755)


def _flat(table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}", str(value)


def _outside(facts: Mapping[str, Any]) -> dict[str, str]:
    """Return the sandbox's vendors, prices and first relay as variables."""
    settings = tomllib.loads(Path(facts["settingsFile"]).read_text("utf-8"))
    for section in ("server", "storage", "node", "webhooks"):
        del settings[section]
    del settings["relay"]["backup"]
    return dict(_flat(settings, "QUIETSWAP_"))


def _programs() -> tuple[Path, str | None]:
    """Return the programs of Debian's newest PostgreSQL or else the wheel's, and their user."""
    wheel, user = postgres_programs()
    debian = Path("/usr/lib/postgresql").glob("*/bin/pg_verifybackup")
    newest = max((int(program.parts[-3]) for program in debian), default=0)
    return (Path(f"/usr/lib/postgresql/{newest}/bin") if newest >= _OLDEST else wheel), user


def _lay_out(folder: Path, programs: Path, user: str | None) -> None:
    """Make the folders of the hosts, and the commands that only a whole host has."""
    folder.chmod(0o755)
    for name in ("bin", "db1", "db2", "opt", "etc", "dist", "units", "var"):
        (folder / name).mkdir()
    for name in ("deploy", "requirements"):
        shutil.copytree(ROOT / name, folder / name)
        (folder / name).chmod(0o700)  # as below /root
    as_postgres = f"setpriv --reuid={user} --regid={user} --clear-groups" if user else ""
    texts = {
        "sudo": _SUDO.format(as_postgres=as_postgres),
        "systemctl": _SYSTEMCTL.format(folder=folder),
        **dict.fromkeys(("useradd", "chgrp"), "#!/bin/sh\n"),
    }
    verifier = [programs / "pg_verifybackup", "--version"]
    if subprocess.run(verifier, stdout=subprocess.DEVNULL, check=False).returncode:
        texts["pg_verifybackup"] = "#!/bin/sh\n"  # the wheel's crashes
    for name, text in texts.items():
        (folder / "bin" / name).write_text(text, "utf-8")
        (folder / "bin" / name).chmod(0o755)
    if user:
        for name in ("db1", "db2", "var"):
            shutil.chown(folder / name, user, user)


def _places(folder: Path, user: str | None, port: int, redis_url: str) -> dict[str, str]:
    """Return what stands for the page's hosts, folders and addresses."""
    return {
        "@db1.example,db2.example/quietswap?": f"@/quietswap?host={folder}/db1,{folder}/db2&",
        "--host=db1.example": f"--host={folder}/db1",
        "--host=db2.example": f"--host={folder}/db2",
        "/usr/local/lib/quietswap": f"{folder}/lib",
        "/var/backups/quietswap": f"{folder}/var/backups",
        "/var/lib/postgresql/.pgpass": f"{folder}/var/.pgpass",
        "--owner=postgres --group=postgres": f"--owner={user} --group={user}" if user else "",
        "/etc/systemd/system": f"{folder}/units",
        "/etc/quietswap": f"{folder}/etc",
        "/opt/": f"{folder}/opt/",
        "http://127.0.0.1:8080": f"http://127.0.0.1:{port}",
        "redis://127.0.0.1:6379/0": redis_url,
    }


@contextmanager
def running_hosts(facts: Mapping[str, Any]) -> Iterator[Hosts]:
    """Make `db1` and `db2` with empty clusters, as Debian does, and `app` with nothing."""
    programs, user = _programs()
    folder, redis = Path(tempfile.mkdtemp(prefix="quietswap-hosts-")), RedisServer()
    _lay_out(folder, programs, user)
    port = free_port()
    variables = without_settings() | _outside(facts)
    path = (folder / "opt/quietswap/bin", folder / "bin", programs, variables["PATH"])
    variables |= {
        "PATH": os.pathsep.join(map(str, path)),
        "QUIETSWAP_SERVER__PORT": str(port),
        "QUIETSWAP_SERVER__RATE_LIMIT": "1000000",  # the tests ask for states as fast as they come
        "QUIETSWAP_SETTINGS": str(folder / "etc/quietswap.toml"),
    }
    hosts = Hosts(folder, port, variables, _places(folder, user, port, redis.url))
    try:
        for host in ("db1", "db2"):
            initdb = "sudo -u postgres initdb --auth=trust --encoding=utf8 --no-sync -U postgres"
            hosts.run(host, f"{initdb} -D {host}/main > /dev/null\nsystemctl start postgresql")
        yield hosts
    finally:
        _stop(hosts)
        redis.close()
        shutil.rmtree(folder, ignore_errors=True)


def _stop(hosts: Hosts) -> None:
    hosts.run(
        "app", f"if [ -e {hosts.folder}/service.pid ]; then systemctl stop quietswap || true; fi"
    )
    for host in ("db1", "db2"):
        hosts.run(host, "systemctl stop postgresql 2> /dev/null || true")
