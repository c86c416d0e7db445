#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks JSON lines against a schema: the part of JSON Schema 2020-12 that our schemas use, and no more.

usage: schema.py SCHEMA <LINES      prints what is wrong; exit 1 if anything is
       schema.py --self-test SCHEMA... checks that the schemas use nothing that is not checked here, and the checker

A keyword that is not known here is an error and not ignored, so that a schema cannot promise what no test looks at.
"""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
SILENT = {"$schema", "title", "description", "$defs"}
KNOWN = SILENT | {"$ref", "oneOf", "type", "const", "enum", "minimum", "maximum", "minLength", "pattern", "properties",
                  "required", "additionalProperties", "items", "minItems", "maxItems"}


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def same(a, b):
    return type(a) is type(b) and a == b


class Checker:
    def __init__(self, root):
        self.root = root

    def resolve(self, ref):
        if not ref.startswith("#/"):
            raise ValueError("only references inside the schema are known: " + ref)
        node = self.root
        for part in ref[2:].split("/"):
            node = node[part]
        return node

    def check(self, schema, value, where="$"):
        """A list of what is wrong."""
        unknown = set(schema) - KNOWN
        if unknown:
            raise ValueError("keywords that this checker does not know: %s" % ", ".join(sorted(unknown)))
        wrong = []
        if "$ref" in schema:
            wrong += self.check(self.resolve(schema["$ref"]), value, where)
        if "oneOf" in schema:
            tries = [self.check(s, value, where) for s in schema["oneOf"]]
            fits = sum(not t for t in tries)
            if fits != 1:
                wrong.append("%s: %d of %d alternatives fit: %s" % (where, fits, len(tries), "; ".join(sum(tries, []))))
        if "type" in schema:
            names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            if not any(is_type(value, n) for n in names):
                return wrong + ["%s: %r is no %s" % (where, value, " or ".join(names))]
        if "const" in schema and not same(schema["const"], value):
            wrong.append("%s: %r is not %r" % (where, value, schema["const"]))
        if "enum" in schema and not any(same(e, value) for e in schema["enum"]):
            wrong.append("%s: %r is none of %r" % (where, value, schema["enum"]))
        if is_type(value, "number"):
            if value < schema.get("minimum", value) or value > schema.get("maximum", value):
                wrong.append("%s: %r is out of range" % (where, value))
        if isinstance(value, str):
            if len(value) < schema.get("minLength", 0):
                wrong.append("%s: too short" % where)
            if "pattern" in schema and not re.search(schema["pattern"], value):
                wrong.append("%s: %r does not match %s" % (where, value, schema["pattern"]))
        if isinstance(value, dict):
            wrong += self.check_object(schema, value, where)
        if isinstance(value, list):
            if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
                wrong.append("%s: %d items" % (where, len(value)))
            for i, item in enumerate(value):
                wrong += self.check(schema.get("items", {}), item, "%s[%d]" % (where, i))
        return wrong

    def check_object(self, schema, value, where):
        properties = schema.get("properties", {})
        wrong = ["%s: %s is missing" % (where, k) for k in schema.get("required", []) if k not in value]
        for k, v in value.items():
            if k in properties:
                wrong += self.check(properties[k], v, where + "." + k)
            elif schema.get("additionalProperties") is False:
                wrong.append("%s: %s is not allowed" % (where, k))
        return wrong


def no_pair_twice(pairs):
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("a key stands twice")
    return dict(pairs)


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f, object_pairs_hook=no_pair_twice)


def visit(schema):
    """Every subschema, so that unknown keywords are found where no value reaches them."""
    yield schema
    for key in ("$defs", "properties"):
        for sub in schema.get(key, {}).values():
            yield from visit(sub)
    for sub in schema.get("oneOf", []):
        yield from visit(sub)
    if "items" in schema:
        yield from visit(schema["items"])


def self_test(paths):
    passed = failed = 0
    samples = [({"type": "integer"}, 1, True), ({"type": "integer"}, True, False), ({"type": "integer"}, 1.5, False),
               ({"const": 0}, False, False), ({"enum": ["a", None]}, None, True), ({"enum": ["a"]}, "b", False),
               ({"minimum": 1}, 0, False), ({"maximum": 1}, 2, False), ({"minLength": 1}, "", False),
               ({"pattern": "^a$"}, "b", False), ({"required": ["a"]}, {}, False),
               ({"additionalProperties": False}, {"a": 1}, False), ({"items": {"type": "null"}}, [None, 1], False),
               ({"minItems": 1}, [], False), ({"maxItems": 1}, [1, 2], False),
               ({"oneOf": [{"const": 1}, {"minimum": 0}]}, 1, False), ({"oneOf": [{"const": 1}, {"const": 2}]}, 2, True),
               ({"type": ["string", "null"]}, 3, False)]
    for schema, value, good in samples:
        if (not Checker(schema).check(schema, value)) == good:
            passed += 1
        else:
            failed += 1
            print("FAIL %r against %r" % (value, schema))
    for path in paths:
        root = load(path)
        bad = [k for s in visit(root) for k in s if k not in KNOWN]
        for s in visit(root):
            if "$ref" in s:
                Checker(root).resolve(s["$ref"])
            bad += [k for k in s.get("required", []) if k not in s.get("properties", {})]
        if bad:
            failed += 1
            print("FAIL %s: %s" % (path, bad))
        else:
            passed += 1
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


def main():
    if sys.argv[1] == "--self-test":
        return self_test(sys.argv[2:])
    root = load(sys.argv[1])
    n = bad = 0
    for line in sys.stdin:
        n += 1
        try:
            wrong = Checker(root).check(root, json.loads(line, object_pairs_hook=no_pair_twice))
        except ValueError as e:
            wrong = [str(e)]
        bad += bool(wrong)
        for w in wrong:
            print("line %d: %s" % (n, w))
    print("%d of %d lines fit" % (n - bad, n))
    return 1 if bad or n == 0 else 0


sys.exit(main())
