"""The Kubernetes example: what the API server would accept and get wrong all the same."""

import re
from typing import Any

import quietswap
from quietswap.service.server.readiness import WITHIN_S
from quietswap.service.server.web_assets import public_pages
from tests.deploy.files import DEPLOY, IMAGE_ENVIRONMENT, ROOT, documents, good_settings, overspent
from tests.deploy.files import parse_command as parsed

BY_KIND: dict[str, dict[str, Any]] = {
    found["kind"]: found for found in documents("kubernetes.yaml")
}
PODS = {kind: BY_KIND[kind]["spec"]["template"]["spec"] for kind in ("Job", "Deployment")}
SECRET = {
    "node-urls": "https://node.example",
    "database-url": "postgresql://quietswap:secret@db/quietswap",
    "rates-url": "rediss://rates:6379/0",
}


def container(kind: str) -> dict[str, Any]:
    [found] = PODS[kind]["containers"]
    return dict(found)


def environment(kind: str) -> dict[str, str]:
    """Return the container's variables, the secret's filled in."""
    found = {}
    for entry in container(kind)["env"]:
        reference = entry.get("valueFrom", {}).get("secretKeyRef")
        if reference:
            assert reference["name"] == "quietswap"
        found[entry["name"]] = SECRET[reference["key"]] if reference else entry["value"]
    return found


def test_the_kinds() -> None:
    assert set(BY_KIND) == {"Job", "Deployment", "PodDisruptionBudget", "Service"}


def test_the_settings_start_the_service() -> None:
    found = good_settings(IMAGE_ENVIRONMENT | environment("Deployment"))
    assert found.storage.redis_url == SECRET["rates-url"]
    assert environment("Job") == {"QUIETSWAP_STORAGE__URL": SECRET["database-url"]}


def test_commands_are_those_of_the_command_line() -> None:
    for kind, name in (("Job", "migrate"), ("Deployment", "serve")):
        assert parsed(container(kind)["args"]).name == name


def test_the_secret_is_made_with_the_keys_that_are_read() -> None:
    text = (DEPLOY / "kubernetes.yaml").read_text("utf-8")
    assert set(re.findall(r"--from-literal=([\w-]+)=", text)) == set(SECRET)


def test_replicas_share_the_vendors_limits() -> None:
    replicas = BY_KIND["Deployment"]["spec"]["replicas"]
    assert replicas == 2
    found = good_settings(IMAGE_ENVIRONMENT | environment("Deployment"))
    assert overspent(found, replicas) == []


def test_kubernetes_adds_no_variables_the_service_would_refuse() -> None:
    for pod in PODS.values():
        assert pod["enableServiceLinks"] is False


def test_probes_ask_pages_that_exist() -> None:
    pages = (ROOT / "src/quietswap/service/server/readiness.py").read_text("utf-8")
    found = container("Deployment")
    for probe in ("startupProbe", "livenessProbe"):
        assert found[probe]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert "/healthz" in public_pages(docs=True)
    assert found["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert found["readinessProbe"]["timeoutSeconds"] > WITHIN_S
    assert '"/readyz": ready' in pages
    assert '"/metrics": metrics' in pages
    annotations = BY_KIND["Deployment"]["spec"]["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/path"] == "/metrics"


def test_ports_agree_with_the_settings() -> None:
    found = container("Deployment")
    [port] = found["ports"]
    settings = good_settings(IMAGE_ENVIRONMENT | environment("Deployment"))
    assert port == {"name": "http", "containerPort": settings.server.port}
    assert BY_KIND["Service"]["spec"]["ports"][0]["targetPort"] == port["name"]


def test_selectors_find_the_pods_of_the_deployment_and_not_the_job() -> None:
    labels = BY_KIND["Deployment"]["spec"]["template"]["metadata"]["labels"]
    job = BY_KIND["Job"]["spec"]["template"]["metadata"]["labels"]
    [spread] = PODS["Deployment"]["topologySpreadConstraints"]
    selectors = [
        BY_KIND["Deployment"]["spec"]["selector"]["matchLabels"],
        BY_KIND["PodDisruptionBudget"]["spec"]["selector"]["matchLabels"],
        BY_KIND["Service"]["spec"]["selector"],
        spread["labelSelector"]["matchLabels"],
    ]
    for selector in selectors:
        assert selector.items() <= labels.items()
        assert not selector.items() <= job.items()


def test_pods_run_as_the_images_user_and_may_do_nothing_they_need_not() -> None:
    dockerfile = (DEPLOY / "Dockerfile").read_text("utf-8")
    for kind, pod in PODS.items():
        security = pod["securityContext"]
        assert security["runAsNonRoot"] is True
        assert f"USER {security['runAsUser']}:{security['runAsGroup']}" in dockerfile
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["automountServiceAccountToken"] is False
        assert container(kind)["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


def test_there_is_time_to_stop() -> None:
    pause = int(container("Deployment")["lifecycle"]["preStop"]["exec"]["command"][1])
    assert PODS["Deployment"]["terminationGracePeriodSeconds"] > pause + 10


def test_the_image_is_of_this_release() -> None:
    for kind in PODS:
        assert container(kind)["image"] == f"quietswap:{quietswap.__version__}"
