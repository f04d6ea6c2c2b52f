"""Write what a release is made of into a folder: `python tools/sbom.py dist`.

`quietswap-VERSION.cdx.json` is a CycloneDX 1.6 document, `quietswap-VERSION.licenses.txt` its
licences as lines. They list every pinned package of `requirements/runtime.txt`, and the npm
packages whose code is in the web page. The property `quietswap:image` marks those of the image.
Licences of Python packages are those that the installed packages declare. The same sources and
packages give the same bytes.
"""

import json
import re
import sys
import uuid
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, metadata, version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
_PIN = re.compile(r"^([\w.-]+)==(\S+)(?: ; (.+?))? \\$", re.M)
_NOT_DECLARED = "not declared"


def _license(name: str) -> str:
    """Return the licence that a package of this environment declares."""
    try:
        declared = metadata(name)
    except PackageNotFoundError:
        return "of a package for another system or Python, not installed here"
    if declared.get("License-Expression"):
        return declared["License-Expression"]
    kinds = [
        text.rpartition(" :: ")[2]
        for text in declared.get_all("Classifier", [])
        if text.startswith("License :: ") and text != "License :: OSI Approved"
    ]
    text = declared.get("License", "").strip()
    return " AND ".join(kinds) or (text if "\n" not in text else "") or _first_line(name)


def _first_line(name: str) -> str:
    """Return how the licence file of a package begins, such as "MIT License"."""
    package = distribution(name)
    for file in package.metadata.get_all("License-File", []):
        lines = (package.read_text(f"licenses/{file}") or "").split("\n")
        for line in filter(None, map(str.strip, lines)):
            return line
    return _NOT_DECLARED


def _component(kind: str, name: str, number: str, license_name: str) -> dict[str, Any]:
    purl = f"pkg:{kind}/{name.replace('@', '%40')}@{number}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": number,
        "licenses": [{"license": {"name": license_name}}],
        "purl": purl,
    }


def _python() -> Iterator[dict[str, Any]]:
    image = {name for name, _, _ in _pins("server.txt")}
    for name, number, only in _pins("runtime.txt"):
        found = _component("pypi", name, number, _license(name))
        marks = {"quietswap:only": only, "quietswap:image": "yes" if name in image else ""}
        shown = [{"name": mark, "value": value} for mark, value in marks.items() if value]
        yield found | ({"properties": shown} if shown else {})


def _pins(name: str) -> list[tuple[str, str, str]]:
    """Return name, version and marker of each package of a file."""
    return _PIN.findall((ROOT / "requirements" / name).read_text("utf-8"))


def _bundled() -> Iterator[dict[str, Any]]:
    lock = json.loads((ROOT / "web/package-lock.json").read_text("utf-8"))
    for path, entry in lock["packages"].items():
        if path and not entry.get("dev") and not entry.get("link"):
            name = path.rpartition("node_modules/")[2]
            yield _component("npm", name, entry["version"], entry.get("license", _NOT_DECLARED))


def bill() -> dict[str, Any]:
    """Return the CycloneDX document of the release that is installed here."""
    number = version("quietswap")
    components = sorted([*_python(), *_bundled()], key=lambda each: str(each["purl"]))
    text = json.dumps(components, sort_keys=True)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, number + text)}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/quietswap@{number}",
                "name": "quietswap",
                "version": number,
                "licenses": [{"license": {"name": _license("quietswap")}}],
                "purl": f"pkg:pypi/quietswap@{number}",
            }
        },
        "components": components,
    }


def main(folder: Path) -> None:
    """Write both files."""
    found = bill()
    stem = f"quietswap-{found['metadata']['component']['version']}"
    text = json.dumps(found, indent=2, ensure_ascii=False)
    (folder / f"{stem}.cdx.json").write_text(text + "\n", "utf-8")
    lines = [
        f"{each['name']} {each['version']}: {each['licenses'][0]['license']['name']}\n"
        for each in found["components"]
    ]
    (folder / f"{stem}.licenses.txt").write_text("".join(lines), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
