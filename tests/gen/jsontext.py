# SPDX-License-Identifier: Apache-2.0
"""Prints JSON in the styles that config files come in.  Only prints: see make_checkpoint.py for why."""
import json


class Raw(str):
    """A number or literal to be printed as it stands."""


class Members(list):
    """An object: [key, value] pairs in order."""

    def get(self, key):
        for k, v in self:
            if k == key:
                return v
        return None

    def has(self, key):
        return any(k == key for k, _ in self)

    def put(self, key, value):
        """In place where the key is, else as the last member."""
        for pair in self:
            if pair[0] == key:
                pair[1] = value
                return
        self.append([key, value])

    def copy(self):
        return Members([k, v.copy() if isinstance(v, Members) else v] for k, v in self)


class JsonStyle:
    """indent, text between key and value, between items on one line, line end, start, end"""

    def __init__(self, indent, colon, comma, newline="\n", start="", end="\n"):
        self.indent, self.colon, self.comma = indent, colon, comma
        self.newline, self.start, self.end = newline, start, end

    def text(self, value):
        return (self.start + self.print(value, 0) + self.end).encode("utf-8")

    def print(self, value, depth):
        if isinstance(value, Raw):
            return str(value)
        if isinstance(value, Members):
            items = [json.dumps(k) + self.colon + self.print(v, depth + 1) for k, v in value]
            return self.block("{", "}", items, depth)
        if isinstance(value, list):
            return self.block("[", "]", [self.print(v, depth + 1) for v in value], depth)
        return json.dumps(value)

    def block(self, left, right, items, depth):
        if not items:
            return left + right
        if self.indent is None:
            return left + self.comma.join(items) + right
        line = self.newline + self.indent * (depth + 1)
        return left + line + ("," + line).join(items) + self.newline + self.indent * depth + right


JSON_STYLES = {
    "two": JsonStyle("  ", ": ", ""), "four": JsonStyle("    ", ": ", ""), "tab": JsonStyle("\t", ": ", ""),
    "line": JsonStyle(None, ": ", ", ", end=""), "compact": JsonStyle(None, ":", ",", end="\n"),
    "crlf": JsonStyle("  ", ": ", "", newline="\r\n", end="\r\n"), "bom": JsonStyle("  ", ": ", "", start="\ufeff"),
    "no-newline": JsonStyle("  ", ": ", "", end=""),
}
