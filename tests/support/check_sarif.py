#!/usr/bin/env python3
"""Checks SARIF logs: against the official schema, if it is there, and what the schema does not say.

    check_sarif.py [--schema FILE] STATUS FILE...

STATUS is the exit status of the command that wrote the logs.
"""
import json, re, sys

arguments = sys.argv[1:]
schema = None
if arguments[0] == "--schema":
    schema = json.load(open(arguments[1]))
    arguments = arguments[2:]
status, paths = int(arguments[0]), arguments[1:]


def check(condition, *words):
    if not condition:
        sys.exit(" ".join(map(str, words)))


def location(where, path, bases):
    check(where, path, "an empty location")
    physical = where.get("physicalLocation")
    if not physical:
        return
    artifact = physical["artifactLocation"]
    if "uriBaseId" in artifact:
        check(artifact["uriBaseId"] in bases, path, "unknown base", artifact)
        check(not re.match(r"[a-z]+:|/", artifact["uri"]), path, "not a relative URI:", artifact)
    else:
        check(artifact["uri"].startswith("file:///"), path, "neither relative nor absolute:", artifact)
    check(re.fullmatch(r"[A-Za-z0-9\-._~/+@,:%]*", artifact["uri"]), path, "not encoded:", artifact)


def result(one, path, run):
    rule = run["tool"]["driver"]["rules"][one["ruleIndex"]]
    check(rule["id"] == one["ruleId"], path, "rule", one["ruleIndex"], "is not", one["ruleId"])
    check(re.fullmatch(r"[0-9a-f]{16}(-[0-9]+)?", one["partialFingerprints"]["heddleFinding/v1"]), path, "fingerprint")
    check(one["kind"] == "fail" or one["level"] == "none", path, "a level without a failure")
    for where in one["locations"] + one.get("relatedLocations", []):
        location(where, path, run["originalUriBaseIds"])
    for flow in one.get("codeFlows", []):
        names = [thread["id"] for thread in flow["threadFlows"]]
        check(len(set(names)) == len(names), path, "two flows of one thread", names)
        for thread in flow["threadFlows"]:
            order = [step["executionOrder"] for step in thread["locations"]]
            check(order and order == sorted(set(order)), path, "steps of a thread out of order", order)
            for step in thread["locations"]:
                location(step["location"], path, run["originalUriBaseIds"])


for path in paths:
    log = json.load(open(path))
    if schema is not None:
        import jsonschema
        validator = jsonschema.validators.validator_for(schema)(schema, format_checker=jsonschema.FormatChecker())
        for error in validator.iter_errors(log):
            sys.exit(f"{path}: {'/'.join(map(str, error.path))}: {error.message[:300]}")
    check(log["version"] == "2.1.0", path, "version")
    run, = log["runs"]
    for rule in run["tool"]["driver"]["rules"]:
        check(len(rule["shortDescription"]["text"]) > 20 and len(rule["help"]["text"]) > 100, path, "no help:", rule["id"])
    invocation, = run["invocations"]
    check(invocation["exitCode"] == status, path, "exit code", invocation["exitCode"])
    check(invocation["executionSuccessful"] == (status != 2), path, "executionSuccessful")
    suppressed = ["suppressions" in one for one in run["results"]]
    check(len(set(suppressed)) <= 1, path, "some results say whether they are suppressed, some do not")
    for one in run["results"]:
        result(one, path, run)
