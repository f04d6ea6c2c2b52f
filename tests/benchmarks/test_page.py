"""The page of the benchmark says on what it was measured."""

import sys
import sysconfig

import pytest

from benchmarks.speed.page import interpreter


def test_a_build_of_ones_own_says_whether_it_is_optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    version = ".".join(map(str, sys.version_info[:3]))
    for arguments, word in (("'--enable-optimizations' '--with-lto'", "with"), ("", "without")):
        monkeypatch.setattr(sysconfig, "get_config_var", lambda _, args=arguments: args)
        said = interpreter("/opt/python")
        assert said == f"Python {version} built {word} `--enable-optimizations`"
    monkeypatch.setattr(sysconfig, "get_config_var", lambda _: None)
    assert interpreter("/opt/python") == f"Python {version} of an unknown build"


def test_a_distribution_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"PRETTY_NAME": "An OS 12"})
    assert interpreter("/usr").endswith(" as An OS 12 packages it")
