"""What docs/cli.md has from the commands themselves."""

import inspect
from collections.abc import Iterator

import click
from tools.marked import row

from quietswap.cli import command
from quietswap.cli.output.errors import JSON_NAMES
from quietswap.cli.output.exit_codes import REFUSED, SHORT, UNDECIDED, UNREACHABLE, USAGE
from quietswap.sandbox.faults import GROUPS, PARTS, described

_SHARED = {
    "Connection": ("url", "api_key", "api_key_file", "rpc_url", "as_json", "raw"),
    "Signing": ("wallet", "keystore", "password_file", "sign_with"),
}
"""Options that stand once for all commands that have every one of them."""
_TABLE = "\n| option | default | meaning |\n|---|---|---|\n"

Commands = list[tuple[str, click.Command]]


def parts() -> dict[str, str]:
    """Return the parts of the page."""
    commands = list(_walk("quietswap", command))
    names = (f"`{text}` is {kind.__name__}" for kind, text in JSON_NAMES.items())
    return {
        "errors": ",\n".join(names) + ".\n",
        "variables": "| variable | option |\n|---|---|\n" + "".join(_variables(commands)),
        "commands": "".join((*_shared(dict(commands)), *_sections(commands))),
    }


def _walk(name: str, found: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(found, click.Group):
        yield name, found
        return
    with click.Context(found) as context:
        for word in found.list_commands(context):
            inner = found.get_command(context, word)
            assert inner is not None
            yield from _walk(f"{name} {word}", inner)


def _variables(commands: Commands) -> Iterator[str]:
    found: dict[str, list[str]] = {}
    for _, one in commands:
        for option in _options(one):
            if isinstance(option.envvar, str):
                found.setdefault(option.envvar, [option.opts[0]])
    for variable, (option,) in found.items():
        yield row(f"`{variable}`", f"`{option}`")


def _shared(commands: dict[str, click.Command]) -> Iterator[str]:
    swap = commands["quietswap swap"]
    for title, names in _SHARED.items():
        with_them = [f"`{name}`" for name, one in commands.items() if set(names) <= _names(one)]
        yield f"\n## {title}\n\nOptions of {', '.join(with_them)}.\n{_TABLE}"
        for option in _options(swap):
            if option.name in names:
                yield _option(option, click.Context(swap))


def _sections(commands: Commands) -> Iterator[str]:
    for name, one in commands:
        context = click.Context(one, info_name=name)
        paragraphs = inspect.cleandoc(one.help or "").split("\n\n")
        text = "\n\n".join(" ".join(lines.split()) for lines in paragraphs)
        usage = " ".join([name, *one.collect_usage_pieces(context)])
        yield f"\n## `{name}`\n\n{text}\n\n```text\n{usage}\n```\n"
        shared = {title: names for title, names in _SHARED.items() if set(names) <= _names(one)}
        elsewhere = {name for names in shared.values() for name in names}
        own = [option for option in _options(one) if option.name not in elsewhere]
        if own:
            yield _TABLE + "".join(_option(option, context) for option in own)
        if "faults" in _names(one):
            yield from _faults()
        more = " and ".join(f"[{title.lower()}](#{title.lower()})" for title in shared)
        said = f"Further options: {more}. " if more else ""
        yield f"\n{said}Exits with {_codes(one)}.\n"


def _faults() -> Iterator[str]:
    parts, groups = (", ".join(f"`{name}`" for name in names) for names in (PARTS, GROUPS))
    yield f"\nParts of `--fault`: {parts}; groups of them: {groups}.\n"
    yield "\n| fault | parts | what happens |\n|---|---|---|\n"
    yield from (row(f"`{fault}`", parts, text) for fault, parts, text in described())


_AFTER_SIGNING = {
    "swap": (UNDECIDED, SHORT),
    "cancel": (UNDECIDED,),
    "wrap": (UNDECIDED,),
    "unwrap": (UNDECIDED,),
    "history": (UNDECIDED,),
}
"""What can only be the end of a command that hands over signed bytes, or follows an order."""


def codes(one: click.Command) -> list[int]:
    """Return the exit codes of a command: only what reaches for something can miss it."""
    late = one.name == "serve"  # it imports what reaches only once its metrics have their folder
    reaching = (
        late
        or {"with_context", "with_storage", "OperatorContext", "DependencyUnreachable"}
        & vars(inspect.getmodule(one.callback)).keys()
    )
    return [
        0,
        REFUSED,
        USAGE,
        *([UNREACHABLE] if reaching else []),
        *_AFTER_SIGNING.get(one.name or "", ()),
    ]


def _codes(one: click.Command) -> str:
    *first, last = codes(one)
    return f"{', '.join(map(str, first))} or {last}"


def _names(one: click.Command) -> set[str | None]:
    return {option.name for option in _options(one)}


def _options(one: click.Command) -> list[click.Option]:
    return [param for param in one.params if isinstance(param, click.Option) and not param.hidden]


def _option(option: click.Option, context: click.Context) -> str:
    record = option.get_help_record(context)
    assert record is not None
    extra = option.get_help_extra(context)
    meaning = option.help or ""
    assert meaning, f"{context.info_name} {record[0]} has no help"
    notes = _range(option.type)
    notes += [f"`{variable}`" for variable in extra.get("envvars", ())]
    notes += ["repeatable"] if option.multiple else []
    if notes:
        meaning = f"{meaning} ({', '.join(notes)})"
    default = f"`{extra['default']}`" if "default" in extra else "-"
    return row(f"`{record[0]}`", default, meaning)


def _range(kind: click.ParamType) -> list[str]:
    if not isinstance(kind, click.IntRange | click.FloatRange):
        return []
    return [f"at least {kind.min}" if kind.max is None else f"{kind.min} to {kind.max}"]
