"""The Helm chart, rendered by Helm: with its own values it is the plain example beside it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.files import DEPLOY, documents, good_settings, overspent
from tests.deploy.test_kubernetes import SECRET
from tests.deploy.test_linters import lint
from tests.example_counts import LONG

if not LONG:
    pytest.skip("nightly: `make test-long` installs Helm's library", allow_module_level=True)
helm = pytest.importorskip("helm_python", reason="there is no Helm for this system")
Documents = dict[tuple[str, str], dict[str, Any]]
EXAMPLE = {"host": "quietswap.example", "operators": ["127.0.0.1/32"]}


def rendered(**values: Any) -> Documents:
    """Return the objects by kind and name."""
    with helm.Chart.load(str(DEPLOY / "chart")) as chart:
        texts = chart.render(values, name="quietswap", namespace="swaps")
    found = [each for text in texts.values() for each in yaml.safe_load_all(text) if each]
    return {(each["kind"], each["metadata"]["name"]): each for each in found}


def environment(found: Documents) -> dict[str, str]:
    """Return the variables of the service, the secret's filled in."""
    [container] = found["Deployment", "quietswap"]["spec"]["template"]["spec"]["containers"]
    return {
        each["name"]: each["value"] if "value" in each
        else SECRET[each["valueFrom"]["secretKeyRef"]["key"]]
        for each in container["env"]
    } | {"QUIETSWAP_SERVER__HOST": "0.0.0.0"}  # fmt: skip


def test_with_its_own_values_it_is_the_plain_example() -> None:
    found = rendered(ingress=EXAMPLE, serviceMonitor=True)
    hooks = found["Job", "quietswap-migrate"]["metadata"].pop("annotations")
    assert hooks["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert hooks["helm.sh/hook-delete-policy"] == "before-hook-creation"
    plain = [
        each for name in ("kubernetes.yaml", "ingress.yaml", "servicemonitor.yaml")
        for each in documents(name)
    ]  # fmt: skip
    assert found == {(each["kind"], each["metadata"]["name"]): each for each in plain}


@pytest.mark.parametrize("replicas", [1, 2, 3, 7])
def test_replicas_share_the_vendors_limits(replicas: int) -> None:
    found = rendered(replicas=replicas)
    assert found["Deployment", "quietswap"]["spec"]["replicas"] == replicas
    assert overspent(good_settings(environment(found)), replicas) == []
    assert (("PodDisruptionBudget", "quietswap") in found) is (replicas > 1)


def test_values_reach_what_they_name() -> None:
    network = {"name": "QUIETSWAP_SERVER__TRUSTED_PROXIES", "value": "10.0.0.0/8"}
    found = rendered(
        image="registry.example/quietswap@sha256", tag="abc", secret="other", env=[network],
        resources={"limits": {"memory": "1Gi"}},
    )  # fmt: skip
    for kind, name in (("Job", "quietswap-migrate"), ("Deployment", "quietswap")):
        [container] = found[kind, name]["spec"]["template"]["spec"]["containers"]
        assert container["image"] == "registry.example/quietswap@sha256:abc"
        assert container["resources"]["limits"] == {"memory": "1Gi"}
        for entry in container["env"]:
            assert (
                entry.get("valueFrom", {}).get("secretKeyRef", {}).get("name", "other") == "other"
            )
    assert good_settings(environment(found)).server.trusted_proxies == ("10.0.0.0/8",)


def test_an_ingress_passes_on_only_what_was_asked_for() -> None:
    assert not [kind for kind, _ in rendered() if kind in ("Ingress", "ServiceMonitor")]
    found = rendered(ingress={"host": "swap.example", "page": False})
    names = [name for kind, name in found if kind == "Ingress"]
    assert sorted(names) == ["quietswap", "quietswap-rpc"]
    [rule] = found["Ingress", "quietswap"]["spec"]["rules"]
    paths = [each["path"] for each in rule["http"]["paths"]]
    assert (rule["host"], paths) == ("swap.example", ["/api/", "/docs", "/openapi.json"])


def test_kubernetes_takes_it(tmp_path: Path) -> None:
    found = rendered(ingress=EXAMPLE, replicas=3)
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all(found.values()), "utf-8")
    done = lint("kubernetes.yaml", file)
    assert done.returncode == 0, done.stdout + done.stderr
