"""A study: what is measured, on which images, with which settings. It is a file: read from TOML and written as TOML.

Nothing about the machine is in it, and no place of images: these are given when it is run (`unseen.studies.run`).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from unseen.errors import UserError, did_you_mean, look_up
from unseen.extension.own_code import is_own_file, own_place
from unseen.reading.keys import Key, file_name, find_key, keys_of, read_text, read_value, toml_or_word
from unseen.studies.keys import BackboneKeys, ProbeKeys, StudyKeys

if TYPE_CHECKING:
    from unseen.backbones.backbone import Backbone
    from unseen.probes.probe import Probe
    from unseen.studies.given import Data, Place
    from unseen.studies.plan import Plan

Table = Mapping[str, Any]
NOTHING: Table = MappingProxyType({})
BACKBONE, DATA, FILES = "backbone", "data", "files"
"""Tables of a study that are not about a probe."""


@dataclass(frozen=True, repr=False)
class Study(StudyKeys):
    """A study; its fields are the keys of the file, with `_` for `-`.

    Attributes:
        name: its name, as of a shipped study, or that of its file; only to speak of it.
        backbone: values for all backbones, by their names in `BackboneKeys`, and for single ones by the names of these.
        data: tables of the user's own data sets by name, with the keys of a data set's own file.
        settings: values for probes by the names of their tables, with the names of keys.
        files: paths of named files, with the SHA-256 that they had in a run.
        allow_code: whether code that tables of models name may be executed; never read from a file.
    """

    name: str = ""
    backbone: Table = field(default_factory=dict)
    data: Mapping[str, Table] = field(default_factory=dict)
    settings: Mapping[str, Table] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    allow_code: bool = field(default=False, compare=False)

    def __repr__(self) -> str:
        own = {each.name: each.default for each in fields(StudyKeys)}
        changed = [f"{name}={_shown(getattr(self, name))}" for name in own if getattr(self, name) != own[name]]
        return f"Study({', '.join([repr(self.name), *changed])})"

    def replace(self, **keys: Any) -> "Study":
        """The study with other values; probes that are left out take their settings with them.

        Args:
            keys: keys of the study by their names in Python (`class_balanced`); tables as mappings, which change only
                what they name: `knn={"k": 5}`, `backbone={"pool": "cls"}`.
        """
        return changed(self, keys, "this study")

    def plan(
        self,
        backbone: "Backbone | str | Sequence[Backbone | str]" = (),
        *,
        data: "Data" = None,
        features: "Place | None" = None,
        out: "Place | None" = None,
    ) -> "Plan":
        """The work of a run of the study, with estimates of time, memory and disk space; nothing is run.

        Args:
            backbone, data, features: as for `unseen.run`.
            out: folder of a run; results that it has are not planned again.
        """
        from tempfile import TemporaryDirectory

        from unseen.backbones.backbone import Backbone
        from unseen.studies.backbones import named_in_python
        from unseen.studies.given import Given
        from unseen.studies.run import plan_study

        several = [backbone] if isinstance(backbone, str | Backbone) else list(backbone)
        study, loaded = named_in_python(self, several)
        with TemporaryDirectory() as nowhere:
            given = Given.in_python(data, features, loaded, allow_code=study.allow_code)
            return plan_study(study, given, Path(nowhere if out is None else out))

    def to_toml(self, *, comments: bool = False) -> str:
        """The study as TOML, with every setting.

        Args:
            comments: explain every key.
        """
        from unseen.studies.toml import written

        return written(self, comments=comments)

    def backbone_keys(self, name: str) -> BackboneKeys:
        """How a backbone is loaded: the values of its own table, then those for all.

        Args:
            name: the name of its table, or its id.
        """
        common = {each: value for each, value in self.backbone.items() if not isinstance(value, Mapping)}
        return BackboneKeys(**{**common, **self.backbone.get(name, NOTHING)})

    @property
    def named_backbones(self) -> dict[str, Table]:
        """The backbones with tables of their own."""
        return {name: table for name, table in self.backbone.items() if isinstance(table, Mapping)}

    def keys_of(self, label: str) -> BackboneKeys:
        """The keys of a backbone by its label, which for one of several layers or poolings begins with its name."""
        return self.backbone_keys(
            next((name for name in self.named_backbones if f"{label}/".startswith(f"{name}/")), label)
        )

    def probe_settings(self, word: str) -> Table:
        """The values for a probe."""
        return self.settings.get(probe_table(word), NOTHING)

    def numbers_of_shots(self, word: str) -> tuple[int | None, ...] | None:
        """Shots of a probe: its own, or else the study's; None for what the probe usually takes."""
        shots = self.probe_settings(word).get("shots", self.shots)
        return None if shots is None else tuple(None if number == "all" else number for number in shots)

    def seeds_of(self, word: str) -> range:
        """The seeds of a probe: its own number of them, or else the study's."""
        return range(self.probe_settings(word).get("seeds") or self.seeds)


def probe_table(word: str) -> str:
    """The name of a probe's table: its name, or that of its file without the ending."""
    return Path(own_place(word)[0]).stem if is_own_file(word) else word


def changed(study: Study, keys: Mapping[str, Any], where: str) -> Study:
    """The study with other values.

    Args:
        keys: values by names of keys, as in files or in Python; tables as mappings.
        where: name of what they come from, for errors.
    """
    known, values, tables = keys_of(StudyKeys), dict[str, Any](), dict[str, Table]()
    for name, value in keys.items():
        if isinstance(value, Mapping):
            tables[file_name(name)] = value
            continue
        found = find_key(known, name, where, _places(study))
        values[found.field] = read_value(found, value, where)
    _refuse_unknown(values, where)
    study = replace(study, **values)
    if "probes" in values:
        used = {*_probe_tables(study)}
        study = replace(study, settings={name: table for name, table in study.settings.items() if name in used})
    for name, table in tables.items():
        study = _with_table(study, name, table, where)
    return study


def _refuse_unknown(values: Mapping[str, Any], where: str) -> None:
    """Refuse names of studies and probes that do not exist."""
    from unseen.probes.by_name import all_probes
    from unseen.studies.toml import shipped_studies

    if values.get("based_on"):
        look_up(dict.fromkeys(shipped_studies()), values["based_on"], "study", f" in {where}")
    for word in values.get("probes", ()):
        if not is_own_file(word):
            look_up(all_probes(), word, "probe", f" in {where}")


def with_value(study: Study, path: str, text: str) -> Study:
    """The study with one value from the command line: `knn.k` and `5,20`."""
    table, dot, rest = path.partition(".")
    where = f"--set {path}"
    if not dot:
        found = find_key(keys_of(StudyKeys), path, where, _places(study))
        return changed(study, {found.field: read_text(found, text, where)}, where)
    if table == BACKBONE:
        name, _, last = rest.rpartition(".")
        found = find_key(keys_of(BackboneKeys), last, where)
        values: dict[str, Any] = {found.field: read_text(found, text, where)}
        own = [each for each in study.backbones if found.field in study.named_backbones.get(each, NOTHING)]
        if not name and own and len(own) == len(study.backbones):
            raise UserError(f"{where}: every backbone has its own {last}; change {BACKBONE}.{own[0]}.{last}")
        return changed(study, {BACKBONE: {name: values} if name else values}, where)
    if table == DATA:
        if "." not in rest:
            raise UserError(f"{where}: the tables of data sets have names; set {DATA}.NAME.{rest}")
        return changed(study, {DATA: _nested(rest.split("."), _any_value(text, where))}, where)
    if table == FILES:
        raise UserError(f"{where}: a run writes the hashes of its files; change them in the file of the study")
    word = _probe_with(study, table, where)
    known = _probe_key(word, rest, where)
    value = read_text(known, text, where) if known else _any_value(text, where)
    return changed(study, {table: {rest: value}}, where)


def _nested(names: Sequence[str], value: Any) -> Any:
    return {names[0]: _nested(names[1:], value)} if names else value


def _with_table(study: Study, name: str, table: Table, where: str) -> Study:
    """The study with the values of a table."""
    if name == BACKBONE:
        return replace(study, backbone=_with_backbones(study.backbone, table, where))
    if name == DATA:
        merged = {**study.data}
        for each, values in table.items():
            if not isinstance(values, Mapping):
                raise UserError(f"{where}: the tables of data sets are [data.NAME], not [data]")
            merged[each] = _deep(merged.get(each, NOTHING), values)
        return replace(study, data=merged)
    if name == FILES:
        wrong = next((each for each, value in table.items() if not isinstance(value, str)), None)
        if wrong is not None:
            raise UserError(f"{where}: [files] has the hash of each file as a text, but {wrong} has none")
        return replace(study, files={**study.files, **table})
    word = _probe_with(study, name, where)
    values, place = {**study.settings.get(name, NOTHING)}, f"{where}, [{name}]"
    for each, value in table.items():
        known = _probe_key(word, each, place)
        values[file_name(each)] = read_value(known, value, place) if known else value
    values = {each: value for each, value in values.items() if value is not None}
    if not is_own_file(word):
        _refuse_impossible(word, values, place)
    return replace(study, settings={**study.settings, name: values})


def _refuse_impossible(word: str, values: Table, place: str) -> None:
    """Refuse values that a probe does not take together."""
    try:
        probe_of(word, values)
    except UserError as error:
        raise UserError(f"{place}: {error}") from None


def _with_backbones(before: Table, table: Table, where: str, called: str = BACKBONE) -> Table:
    known, merged, place = keys_of(BackboneKeys), {**before}, f"{where}, [{called}]"
    for name, value in table.items():
        if isinstance(value, Mapping):
            merged[name] = _with_backbones(before.get(name, NOTHING), value, where, f"{called}.{name}")
        else:
            found = find_key(known, name, place)
            if found.field == "id" and called == BACKBONE:
                raise UserError(f"{place}: id is for one backbone; write it in a table [{BACKBONE}.NAME]")
            merged[found.field] = read_value(found, value, place)
    return {name: value for name, value in merged.items() if value is not None}


def _any_value(text: str, where: str) -> Any:
    """A value from the command line whose type is not known yet: TOML, or else a bare word."""
    value = toml_or_word(text, where)
    return text if value is None else value


def _deep(before: Table, table: Table) -> dict[str, Any]:
    merged = {**before}
    for name, value in table.items():
        inner = merged.get(name)
        merged[name] = _deep(inner, value) if isinstance(value, Mapping) and isinstance(inner, Mapping) else value
    return merged


def _probe_with(study: Study, table: str, where: str) -> str:
    """The probe of a study with a table of that name."""
    from unseen.probes.by_name import all_probes

    word = next((each for each in study.probes if probe_table(each) == table), None)
    if word is not None:
        return word
    if table in all_probes():
        probes = ", ".join(study.probes)
        raise UserError(f"{where}: {table} is not among the probes of the study ({probes}); add it to them")
    hint = did_you_mean(table, [BACKBONE, DATA, *_probe_tables(study)])
    others = "; tables are [backbone], [data.NAME] and those of its probes"
    raise UserError(f"{where}: no table '{table}'{hint or others}")


def _places(study: Study) -> Iterator[str]:
    """The places of the keys in tables, such as `knn.k`, to suggest."""
    yield from (f"{BACKBONE}.{name}" for name in keys_of(BackboneKeys))
    for word in study.probes:
        if not is_own_file(word):
            yield from (f"{word}.{name}" for name in probe_keys(probe_class(word)))


def _probe_tables(study: Study) -> Iterator[str]:
    return map(probe_table, study.probes)


def _probe_key(word: str, name: str, where: str) -> Key | None:
    """A key of a probe; None for one of an own probe, whose keys are known only when its file is executed."""
    if is_own_file(word):
        return keys_of(ProbeKeys).get(file_name(name))
    return find_key(probe_keys(probe_class(word)), name, where)


def probe_of(word: str, values: Table) -> "Probe":
    """A probe with some settings, which are checked together; `shots` and `seeds` are those of its jobs."""
    kind, general = probe_class(word), keys_of(ProbeKeys)
    known = probe_keys(kind)
    return kind(**{known[name].field: value for name, value in values.items() if name not in general})


def probe_class(name: str) -> "type[Probe]":
    """The probe of that name; an unknown one is a user's error."""
    from unseen.probes.by_name import all_probes

    return look_up(all_probes(), name, "probe")


def probe_keys(probe: "type[Probe]") -> dict[str, Key]:
    """The keys of a probe's table: its own, then those of every probe that can be fitted to samples of classes."""
    common = keys_of(ProbeKeys)
    shots = {"shots"} if probe.input != "vectors" else set[str]()
    return {**keys_of(probe), **{name: each for name, each in common.items() if name not in shots}}


def refuse_nothing(study: Study) -> None:
    """Refuse a study without probes, and two probes of one name."""
    if not study.probes:
        raise UserError(f"{study.name or 'the study'}: names no probes; name some (unseen ls probes)")
    tables = [*_probe_tables(study)]
    twice = next((name for name in tables if tables.count(name) > 1), None)
    if twice is not None:
        raise UserError(f"two probes are called {twice}; name each once")


def _shown(value: Any) -> str:
    listed: Iterable[Any] = value if isinstance(value, tuple) else ()
    return repr([*listed]) if isinstance(value, tuple) else repr(value)
