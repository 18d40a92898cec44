"""The reference of the keys of studies, from their declarations: types, defaults and meanings, table by table."""

from collections.abc import Iterable, Iterator

from site_pages.commands import escaped
from unseen.probes.by_name import all_probes
from unseen.reading.keys import Key, toml_value
from unseen.studies.schema import NAME
from unseen.studies.study import BACKBONE
from unseen.studies.toml import shipped_studies, study_keys

INTRODUCTION = f"""# Study reference

All keys of the file of a study. [Studies](../studies.md) explains the file by example, `unseen show STUDY` prints a
study with all its settings, and `--set KEY=VALUE` changes one for a call. `unseen ls keys NAME` prints a table of this
page. Editors complete and check study files with the JSON schema [{NAME}](../{NAME}).

These studies come with the package: {", ".join(f"`{name}`" for name in shipped_studies())}."""

BACKBONES = """## Backbones { #backbone }

Keys in `[backbone]` are for all backbones of the study. A backbone with a name has a table of its own,
`[backbone.NAME]`, whose values take precedence."""


def study_reference() -> str:
    """The page as Markdown."""
    lines = [INTRODUCTION, "", "## What is measured { #study }", ""]
    keys = list(study_keys())
    lines += _table((place, each) for place, each in keys if "." not in place)
    lines += ["", BACKBONES, ""]
    lines += _table((place, each) for place, each in keys if place.startswith(f"{BACKBONE}."))
    for name, probe in all_probes().items():
        lines += ["", f"## `{name}` {{ #{name} }}", "", f"{escaped(probe.title[:1].upper() + probe.title[1:])}.", ""]
        lines += _table((place, each) for place, each in keys if place.startswith(f"{name}."))
    return "\n".join(lines) + "\n"


def _table(keys: Iterable[tuple[str, Key]]) -> Iterator[str]:
    yield from ("| key | value | default | meaning |", "| --- | --- | --- | --- |")
    for place, each in keys:
        default = "unset" if each.default is None else f"`{toml_value(each.default)}`"
        yield f"| `{place}` | {escaped(each.type_words)} | {escaped(default)} | {escaped(each.help)} |"
