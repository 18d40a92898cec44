"""The classes of all commands: how they read lists and options that are given twice, and show flags in help.

Every option does one of three things, for all commands alike:

- A list of names or numbers may be repeated, and its values are split at commas; double quotes protect a comma.
- A list in `WHOLE` may be repeated, and its values are never split: they are paths, or have commas of their own.
- Any other option is given once; a second value would silently replace the first, so it is refused.
"""

from collections import Counter
from typing import Any

from typer.core import TyperCommand, TyperGroup

from unseen.cli.choices import refuse_split_path, split_names
from unseen.errors import UserError

WHOLE = frozenset({"--data", "--id-for", "--set", "--test-set", "--where", "--without"})
"""Lists whose values are never split."""
SPLIT_PATHS = frozenset({"--against", "--backbone", "--datasets", "--network", "--probes"})
"""Lists that are split although their values may be paths."""
LISTS_HELP = "<value>,...: separate several values by commas, or repeat the option; double quotes protect a comma."
WHOLE_HELP = "May be repeated."


class _PlainFlags:
    """Help shows flags without a type: newer versions of Typer print `--dry-run <bool>`."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if getattr(param, "is_flag", False):
                param.metavar = ""
        return params


class Group(_PlainFlags, TyperGroup):
    """A group of commands."""


class Command(_PlainFlags, TyperCommand):
    """A command whose options are lists or are given once."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        params: list[Any] = self.params
        lists = [param for param in params if getattr(param, "multiple", False)]
        for param in lists:
            whole = param.opts[0] in WHOLE
            if whole:
                param.help = f"{param.help} {WHOLE_HELP}"
            param.metavar = param.metavar or ("<value>" if whole else "<value>,...")
        if any(param.opts[0] not in WHOLE for param in lists):
            self.epilog = LISTS_HELP

    def make_parser(self, ctx: Any) -> Any:
        """A parser that splits lists and refuses other options that are given twice."""
        parser: Any = super().make_parser(ctx)
        parse = parser.parse_args

        def parse_lists(args: list[str]) -> Any:
            values, rest, order = parse(args=args)
            if not ctx.resilient_parsing and not any(param.is_eager for param in order):  # completion; --help
                for param, times in Counter(order).items():
                    if param.param_type_name == "option":
                        values[param.name] = _read(param, values[param.name], times)
            return values, rest, order

        parser.parse_args = parse_lists
        return parser


def _read(param: Any, value: Any, times: int) -> Any:
    """The value of an option: the parts of all values of a list."""
    option = param.opts[0]
    if not param.multiple:
        if times > 1:
            raise UserError(f"{option} was given {times} times; give it once")
        return value
    return value if option in WHOLE else [part for text in value for part in _split(option, text)]


def _split(option: str, text: str) -> list[str]:
    if option in SPLIT_PATHS and '"' not in text:
        refuse_split_path(option, text)
    return split_names(option, text)
