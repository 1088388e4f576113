"""Every key of every command's JSON, from the published schemas."""

import json
from pathlib import Path
from typing import Any

from kvdocs.facts.snapshot import FOLDER

SCHEMAS = Path(FOLDER).parents[2] / "docs" / "assets" / "schema"


def kind(of: dict[str, Any]) -> str:
    """A type in words."""
    if "anyOf" in of:
        return kind(of["anyOf"][0]) + " or null"
    if "enum" in of:
        return " or ".join(f"`{json.dumps(value)}`" for value in of["enum"])
    if "$ref" in of:
        return f"[object](#{{command}}-{of['$ref'].rpartition('/')[2]})"
    if of["type"] == "array":
        return "list of " + kind(of["items"]).replace("[object]", "[objects]")
    if "additionalProperties" in of and of["additionalProperties"] is not False:
        return f"object of names and {kind(of['additionalProperties'])}"
    return of["type"] if isinstance(of["type"], str) else " or ".join(of["type"])


def table(of: dict[str, Any], command: str) -> str:
    """The keys of an object, cards on a phone; those that not every answer has in italics."""
    rows = ['<div class="kv-stack" markdown>', "", "| Key | Type | Meaning |", "|:--|:--|:--|"]
    for key, value in of["properties"].items():
        shown = f"`{key}`" if key in of["required"] else f"*`{key}`*"
        rows.append(f"| {shown} | {kind(value).format(command=command)} | {value['description']} |")
    return "\n".join([*rows, "", "</div>"])


for command in ("cost", "fit", "workload", "explain"):
    schema = json.loads((SCHEMAS / f"{command}.json").read_text(encoding="utf-8"))
    print(f"### kvdocs {command} --json\n")
    print(f"[Schema](assets/schema/{command}.json)\n")
    print(table(schema, command), end="\n\n")
    for name, inner in schema.get("$defs", {}).items():
        print(f"#### {name} {{ #{command}-{name} }}\n\n{inner.get('description', '')}\n")
        print(table(inner, command), end="\n\n")
