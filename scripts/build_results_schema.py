"""Writes `results.schema.json`, the JSON Schema of results files, from the types of `unseen.exchange.record`."""

import json
from pathlib import Path

import unseen.exchange.record
from json_schema import json_schema
from unseen.exchange.record import LATER, ResultsFile

PLACE = Path(unseen.exchange.record.__file__).with_name("results.schema.json")


def schema_text() -> str:
    """The file as it should be."""
    schema = json_schema(ResultsFile, "results.schema.json")
    schema["required"] = [name for name in schema["required"] if name not in LATER]
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PLACE.write_text(schema_text(), encoding="utf-8")
