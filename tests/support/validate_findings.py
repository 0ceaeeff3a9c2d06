#!/usr/bin/env python3
"""Checks reports in JSON against docs/findings.schema.json, and the schema itself.

    validate_findings.py SCHEMA FILE...
"""
import json, sys
import jsonschema

schema = json.load(open(sys.argv[1]))


def undescribed(node, path):
    """Members of the schema that say not what they are."""
    if isinstance(node, dict):
        for name, value in node.get("properties", {}).items():
            if not value.get("description"):
                yield f"{path}.{name}"
        for name, value in node.items():
            yield from undescribed(value, f"{path}.{name}")
    elif isinstance(node, list):
        for value in node:
            yield from undescribed(value, path)


jsonschema.Draft202012Validator.check_schema(schema)
missing = list(undescribed(schema, ""))
if missing:
    sys.exit("no description: " + ", ".join(missing))
# The choice between a report and an error first, so that messages name what is wrong.
good = True
for path in sys.argv[2:]:
    document = json.load(open(path))
    part = "error" if "error" in document else "report"
    validator = jsonschema.Draft202012Validator({"$ref": f"#/$defs/{part}", "$defs": schema["$defs"]})
    for error in validator.iter_errors(document):
        print(f"{path}: {'/'.join(map(str, error.path))}: {error.message[:300]}")
        good = False
sys.exit(0 if good else 1)
