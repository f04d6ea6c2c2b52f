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


COMPANY = {
    "name": "blue",
    "image": "registry.example/quietswap",
    "digest": f"sha256:{'0' * 64}",
    "imagePullSecrets": [{"name": "registry"}],
    "serviceAccount": "blue",
    "nodeSelector": {"pool": "swaps"},
    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
    ]}},
    "tolerations": [{"key": "swaps", "operator": "Exists"}],
    "volumes": [{"name": "secrets", "secret": {"secretName": "files"}}],
    "volumeMounts": [{"name": "secrets", "mountPath": "/run/secrets/quietswap", "readOnly": True}],
    "networkPolicy": {"from": [{"namespaceSelector": {"matchLabels": {"name": "ingress"}}}]},
}  # fmt: skip
"""What a company's cluster asks for: a registry, files for secrets, places, a second release."""


def pods(found: Documents) -> list[dict[str, Any]]:
    return [
        each["spec"]["template"]["spec"] for each in found.values() if "template" in each["spec"]
    ]


def test_a_companys_values_reach_both_pods() -> None:
    found = rendered(**COMPANY)
    for pod in pods(found):
        [container] = pod["containers"]
        assert container["image"] == f"registry.example/quietswap@{COMPANY['digest']}"
        assert pod["serviceAccountName"] == "blue"
        for name in ("imagePullSecrets", "nodeSelector", "affinity", "tolerations"):
            assert pod[name] == COMPANY[name]
        assert COMPANY["volumes"][0] in pod["volumes"]
        assert COMPANY["volumeMounts"][0] in container["volumeMounts"]
    policy = found["NetworkPolicy", "blue"]["spec"]
    assert policy["ingress"][0]["from"] == COMPANY["networkPolicy"]["from"]


def test_a_second_release_shares_no_name_and_no_pod() -> None:
    values = {"ingress": EXAMPLE, "serviceMonitor": True, "replicas": 3}
    first, second = rendered(**values), rendered(**values, **COMPANY)
    assert not {name for _, name in first} & {name for _, name in second}
    assert all(name.startswith("blue") for _, name in second)
    labels = second["Deployment", "blue"]["spec"]["template"]["metadata"]["labels"]
    for found, same in ((first, False), (second, True)):
        name = "blue" if same else "quietswap"
        selector = found["Service", name]["spec"]["selector"]
        assert (selector.items() <= labels.items()) is same
        backends = [
            path["backend"]["service"]["name"] for (kind, _), each in found.items()
            if kind == "Ingress" for path in each["spec"]["rules"][0]["http"]["paths"]
        ]  # fmt: skip
        assert {*backends} == {name}
    [endpoint] = second["ServiceMonitor", "blue"]["spec"]["endpoints"]
    assert endpoint["relabelings"] == [{"targetLabel": "job", "replacement": "quietswap"}]


def test_secrets_are_apart_or_files(tmp_path: Path) -> None:
    found = rendered(migrate={"secret": "owner"})
    [job] = found["Job", "quietswap-migrate"]["spec"]["template"]["spec"]["containers"]
    assert job["env"][0]["valueFrom"]["secretKeyRef"]["name"] == "owner"
    assert environment(found)["QUIETSWAP_STORAGE__URL"] == SECRET["database-url"]
    files = {
        "STORAGE__URL": "database-url",
        "STORAGE__REDIS_URL": "rates-url",
        "NODE__URLS": "node-urls",
    }
    for key in files.values():
        (tmp_path / key).write_text(SECRET[key], "utf-8")
    env = [
        {"name": f"QUIETSWAP_{name}", "value": f"file:{tmp_path / key}"}
        for name, key in files.items()
    ]
    found = rendered(secret="", env=env, migrate={"env": env[:1]})
    assert "secretKeyRef" not in str(found)
    assert good_settings(environment(found)).storage.url == SECRET["database-url"]
    [job] = found["Job", "quietswap-migrate"]["spec"]["template"]["spec"]["containers"]
    assert job["env"] == env[:1]


@pytest.mark.parametrize(
    "wrong", [{"replica": 3}, {"replicas": "3"}, {"digest": "latest"}, {"ingress": {"hots": "h"}}]
)
def test_a_mistyped_value_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(helm.HelmValuesError, match="specifications of the schema"):
        rendered(**wrong)


@pytest.mark.parametrize("values", [{}, COMPANY], ids=["plain", "company"])
def test_kubernetes_takes_it(tmp_path: Path, values: dict[str, Any]) -> None:
    found = rendered(ingress=EXAMPLE, replicas=3, **values)
    file = tmp_path / "all.yaml"
    file.write_text(yaml.safe_dump_all(found.values()), "utf-8")
    done = lint("kubernetes.yaml", file)
    assert done.returncode == 0, done.stdout + done.stderr
