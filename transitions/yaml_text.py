"""YAML as this project reads and writes it: each key once, errors in one line, text that stays as it was."""

from __future__ import annotations

from typing import Any

import yaml


class NotYaml(ValueError):
    """Text that is no YAML, or has a key twice in one group, where a parser would silently take the last.

    `line` counts from 1; it is None where nobody knows it.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message, line)
        self.line = line

    def __str__(self) -> str:
        return str(self.args[0])


class _Values(yaml.SafeLoader):
    """Numbers, truth values and dates are what they look like.

    Keys are looked at as they are read: what `<<` merges into a group later may stand there, too.
    """

    def compose_mapping_node(self, anchor: Any) -> Any:
        node = super().compose_mapping_node(anchor)
        _refuse_twice(node)
        return node


class _Texts(getattr(yaml, "CBaseLoader", yaml.BaseLoader)):  # type: ignore[misc]  # chosen where it runs
    """All text stays text, whatever it looks like."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        _refuse_twice(node)
        return super().construct_mapping(node, deep)


def _refuse_twice(node: yaml.MappingNode) -> None:
    lines: dict[tuple[str, Any], int] = {}
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):  # others are refused as keys anyway
            line = key.start_mark.line + 1
            if (key.tag, key.value) in lines:
                first = lines[key.tag, key.value]
                raise NotYaml(f"line {line}: key {key.value!r} is in line {first} already", line)
            lines[key.tag, key.value] = line


def parse_yaml(text: str, *, texts: bool = False) -> Any:
    """The value that `text` stands for, with all scalars as `texts` if so asked. Raises NotYaml."""
    try:
        return yaml.load(text, Loader=_Texts if texts else _Values)  # noqa: S506 - it makes plain values
    except NotYaml:
        raise
    # PyYAML lets through whatever the constructors of tagged values raise.
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        raise NotYaml(" ".join(str(error).split()), mark.line + 1 if mark else None) from None


def load_yaml(what: str, text: str, error: type[Exception]) -> Any:
    """The value that `text` stands for. Raises `error` in one line, which says that `what` is not YAML."""
    try:
        return parse_yaml(text)
    except NotYaml as problem:
        raise error(f"{what} is not YAML: {problem}") from None


class _Dumper(yaml.SafeDumper):
    """Quotes the line breaks that only Unicode knows: unquoted they would come back as spaces."""


def _represent_text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = '"' if any(character in text for character in "\x85\u2028\u2029") else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def dump_yaml(data: dict[str, Any]) -> str:
    """Text that stands for `data`, in the order of its keys."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
