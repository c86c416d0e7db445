#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the files of this folder: good-*.safetensors and bad-*.safetensors, each bad one with one defect that its
name tells, and EXPECT.tsv. Always the same bytes. Large and deep cases are made in memory by the unit test."""

import itertools
import os
import struct
import sys

EXPECT = []
OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))


def entry(dtype="F32", shape="[2]", offsets="[0,8]", extra=""):
    return '{"dtype":"%s","shape":%s,"data_offsets":%s%s}' % (dtype, shape, offsets, extra)


def obj(*members):
    return "{" + ",".join(members) + "}"


def one(value, name="w"):
    return '{"%s":%s}' % (name, value)


def pack(header, data=b"", pad=True, length=None):
    raw = header if isinstance(header, bytes) else header.encode("utf-8")
    if pad:
        raw += b" " * (-len(raw) % 8)
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


def write(kind, name, content, *expect):
    file = "%s-%s.safetensors" % (kind, name.replace("_", "-"))
    with open(os.path.join(OUT, file), "wb") as f:
        f.write(content)
    EXPECT.append("\t".join((file, *expect)))


def good(name, header, data=b"\1" * 8, tensors=1, metadata=0, flags="", pad=True):
    """flags: L leading white space, U unpadded, M some tensor misaligned."""
    write("good", name, pack(header, data, pad), "valid", "none", "%d %d %s" % (tensors, metadata, flags or "-"))


def bad(name, fault, fragment, header, data=b"\1" * 8, pad=True, length=None):
    write("bad", name, pack(header, data, pad, length), "invalid", fault, fragment)


def raw(name, fault, fragment, content):
    write("bad", name, content, "invalid", fault, fragment)


def bad_value(group, fault, build, cases):
    """Many values for one place."""
    for name, fragment, value in cases:
        bad("%s-%s" % (group, name), fault, fragment, one(build(value)))


def good_files():
    good("one", one(entry()))
    good("unpadded", one(entry(), "wx"), flags="UM", pad=False)
    good("unpadded_bytes", one(entry("U8", "[8]"), "wxy"), flags="U", pad=False)
    good("scalar", one(entry("F64", "[]")))
    good("empty_object", "{}", b"", 0)
    good("empty_object_unpadded", "{}", b"", 0, flags="U", pad=False)
    good("order_free", obj('"b":' + entry("F32", "[1]", "[4,8]"), '"a":' + entry("F32", "[1]", "[0,4]")), tensors=2)
    good("order_scrambled", obj(*('"t%d":%s' % (i, entry("U8", "[1]", "[%d,%d]" % (i, i + 1)))
                                  for i in (5, 2, 7, 0, 1, 6, 3, 4))), tensors=8)
    bits = {"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8,
            "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16,
            "I32": 32, "U32": 32, "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64}
    members, at = [], 0
    for dtype in sorted(bits, key=lambda d: -bits[d]):
        end = at + 8 * bits[dtype] // 8
        members.append('"%s":%s' % (dtype.lower(), entry(dtype, "[2,4]", "[%d,%d]" % (at, end))))
        at = end
    good("all_dtypes", obj(*members), bytes(at), 22)
    for dtype, width in bits.items():
        good("dtype_" + dtype, one(entry(dtype, "[8]", "[0,%d]" % width)), bytes(width))
    good("f4_no_elements", one(entry("F4", "[0,3]", "[0,0]")), b"")
    good("f4_even_total", one(entry("F4", "[2,3]", "[0,3]")), bytes(3))
    good("f6_four", one(entry("F6_E2M3", "[4]", "[0,3]")), bytes(3))
    good("no_elements", one(entry("F32", "[3,0]", "[0,0]")), b"")
    empty = '"e%d":' + entry("F32", "[0]", "[%d,%d]")
    good("no_elements_at_every_border", obj(empty % (0, 0, 0), '"a":' + entry("F32", "[1]", "[0,4]"), empty % (1, 4, 4),
                                            '"b":' + entry("F32", "[1]", "[4,8]"), empty % (2, 8, 8)), tensors=5)
    good("no_elements_last_in_header", obj('"a":' + entry(), empty % (0, 0, 0)), tensors=2)
    good("no_elements_share_an_offset", obj(*(empty % (i, 0, 0) for i in range(20))), b"", 20)
    good("zero_before_huge", one(entry("U64", "[0,9223372036854775808,4294967296]", "[0,0]")), b"")
    good("u64_max_dim", one(entry("U8", "[18446744073709551615,0]", "[0,0]")), b"")
    good("digits_19_and_20", one(entry("U8", "[0,9999999999999999999,10000000000000000000]", "[0,0]")), b"")
    good("rank_40", one(entry("F32", "[" + "1," * 39 + "2]")))
    good("values_free", obj('"b":' + entry("BOOL", "[4]", "[4,8]"), '"f":' + entry("F32", "[1]", "[0,4]")),
         b"\xff\xff\xff\x7f\x02\xff\x80\x01", 2)
    good("leading_space", "\n\t \r" + one(entry()), flags="L")
    good("trailing_space", one(entry()) + "\r\n\t \t", flags="")
    good("space_padding_long", one(entry()) + " " * 2000)
    good("pretty", '{\n  "w" : {\r\n\t"shape" : [ 2 ] ,\n "data_offsets":[0 , 8 ], "dtype" :"F32"\n }\n}')
    fields = ('"dtype":"F32"', '"shape":[2]', '"data_offsets":[0,8]')
    for order in itertools.permutations(range(3)):
        good("fields_%d%d%d" % order, one(obj(*(fields[i] for i in order))))
        good("fields_%d%d%d_spaced" % order, one("{ %s }" % ", ".join(fields[i].replace(":", ": ") for i in order)))
    good("fields_any_order", one('{"data_offsets":[0,8],"dtype":"F32","shape":[2]}'))
    good("extra_key", one(entry(extra=',"note":{"a":[1,{"b":null}],"c":-1.5e3},"x":"\\ud83d\\ude00"')))
    good("extra_keys_alike_at_other_depth", one(entry(extra=',"x":{"x":{"x":1},"y":{"x":2}},"y":[{"x":1},{"x":1}]')))
    good("extra_huge_negative_exponent", one(entry(extra=',"x":[1e-999999999999,0e999999999999,1e308]')))
    good("extra_depth_125", one(entry(extra=',"x":' + "[" * 125 + "]" * 125)))
    good("metadata_only", '{"__metadata__":{"format":"pt"}}', b"", 0, 1)
    good("metadata_empty", '{"__metadata__":{},"w":%s}' % entry())
    good("metadata_null", '{"__metadata__":null,"w":%s}' % entry())
    good("metadata_last", '{"w":%s,"__metadata__":{"a":"1","b":"2"}}' % entry(), metadata=2)
    good("metadata_key_escaped", '{"w":%s,"__meta\\u0064ata__":{"a":"1"}}' % entry(), metadata=1)
    good("metadata_empty_strings", '{"__metadata__":{"":""},"w":%s}' % entry(), metadata=1)
    good("metadata_json_text", '{"__metadata__":{"cfg":"{\\"bits\\": [4, 8]}\\n"},"w":%s}' % entry(), metadata=1)
    good("metadata_own_name", '{"__metadata__":{"__metadata__":"x"},"w":%s}' % entry(), metadata=1)
    names = ["__metadata", "__METADATA__", "__metadata__ ", "metadata"]
    good("metadata_lookalikes", obj(*('"%s":%s' % (n, entry("U8", "[2]", "[%d,%d]" % (2 * i, 2 * i + 2)))
                                      for i, n in enumerate(names))), tensors=4)
    odd = {"empty": "", "dotdot": "../../etc/passwd", "absolute": "/dev/null", "backslash": "a\\\\b\\\\..\\\\c",
           "controls": "a\\nb\\t\\u001b[31m\\u0007", "markup": "\\\"<b>&amp;</b>'", "spaces": "   ", "dtype": "dtype",
           "unicode": "gewicht-\u00e4\u6f22\U0001f600", "bidi": "\u202ehtgiew\u200b\ufeff", "percent": "%s%n%99999d",
           "proto": "__proto__", "constructor": "constructor", "nul": "a\\u0000b", "slash": "a\\/b",
           "pair": "\\uD83D\\ude00", "del_and_noncharacter": "\x7f\uffff\ufdd0"}
    for name, text in odd.items():
        good("name_" + name, one(entry(), text))
    good("names_nfc_nfd", obj('"\u00e9":' + entry("F32", "[1]", "[0,4]"), '"e\u0301":' + entry("F32", "[1]", "[4,8]")),
         tensors=2)
    good("names_apart_after_nul", obj('"a\\u0000b":' + entry("F32", "[1]", "[0,4]"),
                                      '"a\\u0000c":' + entry("F32", "[1]", "[4,8]")), tensors=2)
    good("keys_escaped", one('{"d\\u0074ype":"F\\u0033\\u0032","\\u0073hape":[2],"data\\u005foffsets":[0,8]}'))
    good("misaligned", obj('"a":' + entry("U8", "[1]", "[0,1]"), '"b":' + entry("F16", "[3]", "[1,7]"),
                           '"c":' + entry("U8", "[1]", "[7,8]")), tensors=3, flags="M")


def bad_starts():
    raw("empty", "empty", "the file is empty", b"")
    raw("seven_bytes", "short", "1 byte(s) short", b"\x40" + bytes(5) + b"\1")
    raw("eight_bytes", "short", "8 byte(s) short", struct.pack("<Q", 8))
    raw("header_cut", "short", "ends inside its header", pack(one(entry()))[:40])
    raw("length_u64_max", "length", "first 8 bytes are damaged", b"\xff" * 8 + b"{}")
    raw("length_2_63", "length", "first 8 bytes are damaged", struct.pack("<Q", 1 << 63) + b"{} ")
    raw("length_wraps", "length", "first 8 bytes are damaged", struct.pack("<Q", (1 << 64) - 8) + b"{}")
    raw("length_2_32_and_2", "length", "first 8 bytes are damaged", struct.pack("<Q", (1 << 32) + 2) + b"{}")
    raw("length_limit_and_1", "length", "first 8 bytes are damaged", struct.pack("<Q", 100000001) + b"{}")
    raw("length_at_limit", "short", "99999998 byte(s) short", struct.pack("<Q", 100000000) + b"{}")
    raw("length_one_more", "short", "1 byte(s) short", struct.pack("<Q", 3) + b"{}")
    raw("length_big_endian", "length", "big-endian", struct.pack(">Q", 2) + b"{}")
    raw("length_then_no_json", "length", "first 8 bytes are damaged", struct.pack("<Q", 5000) + b"\x93\x01\x02")
    bad("length_covers_data", "length", "covers data", one(entry()), bytes(8), False, len(one(entry())) + 8)
    raw("length_zero", "json", "the header is empty", bytes(8) + b"{}")
    raw("nul_bytes_only", "not-safetensors", "NUL bytes alone", bytes(600))
    raw("lfs_pointer", "lfs-pointer", "sha256:%s, 4096 bytes): `git lfs pull`" % ("ab" * 32),
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 4096\n")
    raw("lfs_pointer_cut", "lfs-pointer", "not the file itself: `git lfs pull`", b"version https://git-lfs.github.com/")
    raw("html", "not-safetensors", "web page", b"<!DOCTYPE html>\n<html><body>404</body></html>\n")
    raw("xml", "not-safetensors", "web page", b"<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>")
    raw("short_html", "not-safetensors", "web page", b"<html>")
    raw("plain_text", "not-safetensors", "begins \"Entry not found\"", b"Entry not found\r\n")
    raw("json_index", "not-safetensors", "this is JSON text", b'{"metadata":{},"weight_map":{}}\n')
    raw("torch_zip", "not-safetensors", "torch.save",
        b"PK\3\4\0\0\x08\x08\0\0" + bytes(16) + b"\x10\0\x12\0archive/data.pklFB\x0e\0" + b"Z" * 14 + b"\x80\x02}q\0.")
    raw("zip", "not-safetensors", "this is a zip file", b"PK\3\4\x14\0\0\0\x08\0" + bytes(40))
    raw("pickle_2", "not-safetensors", "pickle", b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.")
    raw("pickle_4", "not-safetensors", "pickle", b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94\x8c\x01a\x94K\x01s.")
    raw("gguf", "not-safetensors", "GGUF", b"GGUF\3\0\0\0" + bytes(32))
    raw("ggml", "not-safetensors", "GGML", b"tjgg\3\0\0\0" + bytes(32))
    raw("gzip", "not-safetensors", "gzip", b"\x1f\x8b\x08\0" + bytes(4) + b"\x02\x03" + bytes(30))
    raw("zstd", "not-safetensors", "zstd", b"\x28\xb5\x2f\xfd\x04\x00\x11\x22\x33")
    raw("xz", "not-safetensors", "xz", b"\xfd7zXZ\0\0\4\xe6\xd6\xb4\x46")
    raw("bzip2", "not-safetensors", "bzip2", b"BZh91AY&SY\0\1\2")
    raw("hdf5", "not-safetensors", "HDF5", b"\x89HDF\r\n\x1a\n" + bytes(16))
    raw("numpy", "not-safetensors", "NumPy", b"\x93NUMPY\1\0v\0{'descr'")
    raw("tar", "not-safetensors", "tar archive", b"model/".ljust(257, b"\0") + b"ustar\00000" + bytes(100))


def bad_text():
    bad("bom", "json", "byte order mark", b"\xef\xbb\xbf" + one(entry()).encode())
    bad("utf16", "json", "invalid JSON", one(entry()).encode("utf-16-le"), pad=False)
    for name, piece in (("ff", b"\xff"), ("overlong_nul", b"\xc0\x80"), ("latin1", b"\xe9"), ("cut", b"\xe2\x82"),
                        ("surrogate", b"\xed\xa0\x80"), ("above_10ffff", b"\xf4\x90\x80\x80")):
        bad("utf8-" + name, "utf8", "not UTF-8", one(entry(), "@").encode().replace(b"@", piece))
    bad("utf8_in_metadata", "utf8", "not UTF-8", b'{"__metadata__":{"a":"\xfe"}}', b"")
    bad("utf8_in_padding", "utf8", "not UTF-8", one(entry()).encode() + b" \xff ")
    bad("utf8_before_json_fault", "utf8", "not UTF-8", b"{,\xff}")
    bad("nul_padding", "nul-padded", "padded with NUL", one(entry()).encode() + bytes(7), pad=False)
    bad("nul_then_space", "json", "something follows", one(entry()).encode() + b"\0  ")
    bad("space_only", "json", "a value is missing", " \n ")
    for name, tail in (("form_feed", "\f"), ("vertical_tab", "\v"), ("nbsp", "\u00a0"), ("second_object", "{}"),
                       ("brace", "}"), ("comma", ",")):
        bad("tail-" + name, "json", "something follows", one(entry()) + tail)
    bad("metadata_outside", "json", "outside the JSON object", '{},"__metadata__":{"format":"pt"}}', b"")
    for name, text in (("array", "[]"), ("string", '"{}"'), ("number", "0"), ("null", "null"), ("true", "true"),
                       ("pairs", '[["w",%s]]' % entry())):
        bad("top-" + name, "entry", "but no object", text, b"")
    for name, fragment, text in (
            ("trailing_comma", "a comma stands before '}'", '{"w":%s,}' % entry()),
            ("trailing_comma_in_list", "a comma stands before ']'", one(entry(shape="[2,]"))),
            ("single_quotes", "a key in quotes", one(entry()).replace('"', "'")),
            ("bare_key", "a key in quotes", "{w:%s}" % entry()),
            ("comment", "no value can begin", "/* */" + one(entry())),
            ("comment_after", "something follows", one(entry()) + "// end"),
            ("no_colon", "':' must stand", '{"w"%s}' % entry()),
            ("no_comma", "',' or '}'", one(entry()).replace(',"shape"', '"shape"')),
            ("no_value", "no value can begin", '{"w":}'),
            ("not_closed", "must stand here", one(entry())[:-1]),
            ("string_not_closed", "ends inside a string", '{"w'),
            ("wrong_bracket", "',' or ']'", one(entry(shape="[2}"))),
            ("raw_nul_in_name", "control byte", one(entry(), "a\0b")),
            ("raw_newline_in_name", "control byte", one(entry(), "a\nb")),
            ("high_surrogate", "surrogate", one(entry(), "\\ud800")),
            ("low_surrogate", "surrogate", one(entry(), "\\udc00")),
            ("two_high_surrogates", "surrogate", one(entry(), "\\ud800\\ud800")),
            ("surrogate_in_metadata", "surrogate", '{"__metadata__":{"a":"\\udfff"}}'),
            ("surrogate_in_extra_key", "surrogate", one(entry(extra=',"\\ud800":1'))),
            ("surrogate_in_extra_value", "surrogate", one(entry(extra=',"x":["\\ud800"]'))),
            ("escape_x", "no such escape", one(entry(), "\\x41")),
            ("escape_u_digits", "four hexadecimal", one(entry(), "\\u12g4")),
            ("nan", "no value can begin", one(entry(extra=',"x":NaN'))),
            ("infinite", "out of range", one(entry(extra=',"x":1e999'))),
            ("depth_126_extra", "nested", one(entry(extra=',"x":' + "[" * 126 + "]" * 126))),
            ("literal_case", "no value can begin", one(entry(extra=',"x":True')))):
        bad("json-" + name, "json", fragment, text)


def bad_table():
    for name, value in (("number", "1"), ("bool", "true"), ("null", "null"), ("object", '{"b":"c"}'), ("list", '["b"]'),
                        ("deep", "[" * 200)):
        bad("metadata_value-" + name, "metadata", '"a" in __metadata__ is no string',
            '{"__metadata__":{"a":%s},"w":%s}' % (value, entry()))
    for name, value in (("string", '"pt"'), ("number", "0"), ("list", "[]"), ("false", "false")):
        bad("metadata-" + name, "metadata", "__metadata__ is no map", '{"__metadata__":%s,"w":%s}' % (value, entry()))
    bad("metadata-tensor", "metadata", "the format reserves", one(entry(), "__metadata__"))
    bad("metadata-twice", "duplicate", '"__metadata__" stands twice',
        '{"__metadata__":{"a":"b"},"w":%s,"__metadata__":{"a":"b"}}' % entry())
    bad("metadata-null-then-map", "duplicate", '"__metadata__" stands twice',
        '{"__metadata__":null,"__metadata__":{},"w":%s}' % entry())
    bad("metadata-key-twice", "duplicate", '"a" stands twice', '{"__metadata__":{"a":"1","b":"2","\\u0061":"1"}}', b"")
    for name, value in (("null", "null"), ("string", '"F32"'), ("number", "1"), ("bool", "false")):
        bad("entry-" + name, "entry", "the entry is no object", one(value))
    for name, value in (("2", '["F32",[2]]'), ("3", '["F32",[2],[0,8]]'), ("4", '["F32",[2],[0,8],0]'), ("0", "[]")):
        bad("entry-array-" + name, "entry", "written as an array", one(value))
    bad("entry-empty", "entry", "dtype is missing", one("{}"))
    bad("entry-no-dtype", "entry", "dtype is missing", one('{"shape":[2],"data_offsets":[0,8]}'))
    bad("entry-no-shape", "entry", "shape is missing", one('{"dtype":"F32","data_offsets":[0,8]}'))
    bad("entry-no-offsets", "entry", "data_offsets is missing", one('{"dtype":"F32","shape":[2]}'))
    bad("entry-old-offsets", "entry", "data_offsets is missing", one('{"dtype":"F32","shape":[2],"offsets":[0,8]}'))
    bad("entry-key-case", "entry", "dtype is missing", one(entry().replace("dtype", "Dtype")))
    for field, value in (("dtype", '"F32"'), ("shape", "[2]"), ("data_offsets", "[0,8]"), ("sh\\u0061pe", "[2]"),
                         ("x", "1"), ("", "[]")):
        before = ',"x":1,"":0' if field in ("x", "") else ""
        label = {"": "empty", "sh\\u0061pe": "escaped"}.get(field, field.replace("_", "-"))
        bad("twice-" + label, "duplicate", "stands twice", one(entry(extra='%s,"%s":%s' % (before, field, value))))
    bad("twice-deep", "duplicate", '"q" stands twice', one(entry(extra=',"x":[[{"q":1,"r":{"q":1},"\\u0071":2}]]')))
    bad("twice-dtype-no-shape", "duplicate", "stands twice", one('{"dtype":"F32","data_offsets":[0,8],"dtype":"F32"}'))
    bad("entry-field-cut", "json", "must stand", '{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]')
    first = '"w":' + entry("F32", "[2]", "[0,8]")
    bad("name-twice-same", "duplicate", "this tensor twice", obj(first, first))
    bad("name-twice-last-covers", "duplicate", "this tensor twice", obj('"w":' + entry("F32", "[1]", "[0,4]"), first))
    bad("name-twice-first-covers", "duplicate", "this tensor twice", obj(first, '"w":' + entry("F32", "[1]", "[0,4]")))
    bad("name-twice-escaped", "duplicate", "this tensor twice", obj(first, first.replace('"w"', '"\\u0077"')))
    bad("name-twice-with-nul", "duplicate", "this tensor twice",
        obj('"a\\u0000":' + entry("F32", "[0]", "[0,0]"), '"\\u0061\\u0000":' + entry()))
    bad("name-twice-first-broken", "dtype", "unknown dtype", obj('"w":' + entry("F99"), first))


def bad_fields():
    bad_value("dtype", "dtype", entry, (("unknown", "unknown dtype", "F128"), ("space", "unknown dtype", "F32 "),
              ("empty", "unknown dtype", ""), ("torch", "unknown dtype", "F8_E4M3FN"),
              ("lower", "unknown dtype", "f32"), ("numpy", "unknown dtype", "float32"),
              ("int4", "unknown dtype", "I4"), ("ggml", "unknown dtype", "Q8_0"),
              ("nul", "unknown dtype", "F32\\u0000"), ("long", "unknown dtype", "\\u0046" * 40)))
    for name, value in (("null", "null"), ("number", "32"), ("list", '["F32"]')):
        bad("dtype-" + name, "entry", "dtype is no string", one(entry().replace('"F32"', value)))
    for name, value in (("object", '{"F32":null}'), ("object-full", '{"F32":1}')):
        bad("dtype-" + name, "entry", "written as an object", one(entry().replace('"F32"', value)))
    bad_value("shape", "entry", lambda v: entry("F32", v), (
        ("null", "shape is no list", "null"), ("number", "shape is no list", "2"),
        ("string", "shape is no list", '"[2]"'), ("object", "shape is no list", "{}"),
        ("negative", "no whole number", "[-2]"), ("minus-0", "no whole number", "[-0]"),
        ("float", "no whole number", "[2.0]"), ("exponent", "no whole number", "[2e0]"),
        ("text", "no whole number", '["2"]'),
        ("null-inside", "no whole number", "[null]"), ("bool", "no whole number", "[true]"),
        ("nested", "no whole number", "[[2]]"), ("2-64", "no whole number", "[18446744073709551616]")))
    bad_value("shape", "json", lambda v: entry("F32", v), (
        ("long", "out of range", "[" + "9" * 400 + "]"), ("leading-0", "begin with a zero", "[02]"),
        ("hex", "',' or ']'", "[0x2]"), ("plus", "no value can begin", "[+2]"), ("no-comma", "',' or ']'", "[1 2]")))
    bad_value("offsets", "entry", lambda v: entry(offsets=v), (
        ("null", "data_offsets are no list", "null"), ("object", "data_offsets are no list", '{"0":0,"1":8}'),
        ("0", "too few", "[]"), ("1", "too few", "[0]"), ("3", "too many", "[0,8,8]"),
        ("nested", "no whole number", "[[0,8]]"),
        ("negative", "no whole number", "[-8,0]"), ("negative-end", "no whole number", "[0,-8]"),
        ("float", "no whole number", "[0,8.0]"), ("exponent", "no whole number", "[0,8e0]"),
        ("minus-0", "no whole number", "[-0,8]"), ("text", "no whole number", '["0","8"]'),
        ("2-64", "no whole number", "[0,18446744073709551616]"), ("float-begin", "no whole number", "[0.0,8]")))
    bad("offsets-leading-0", "json", "begin with a zero", one(entry(offsets="[00,8]")))
    bad("offsets-leading-0-end", "json", "begin with a zero", one(entry(offsets="[0,08]")))
    bad("offsets-exponent-fits", "entry", "no whole number", one(entry("U8", "[100]", "[0,1e2]")), bytes(100))


def bad_layout():
    two = lambda a, b, dtype="U8", n="[4]": obj('"a":' + entry(dtype, n, a), '"b":' + entry(dtype, n, b))
    bad("hole-first", "offsets", "a hole of 4 byte(s)", one(entry("F32", "[1]", "[4,8]")))
    bad("hole-between", "offsets", "a hole of 2 byte(s)", two("[0,4]", "[6,10]"), bytes(10))
    bad("hole-huge", "offsets", "a hole of 9223372036854775808",
        one(entry("U8", "[8]", "[9223372036854775808,9223372036854775816]")))
    bad("offsets-absolute", "offsets", "from the start of the file", one(entry("U8", "[8]", "[64,72]")))
    bad("overlap-same", "offsets", "tied tensors", two("[0,4]", "[0,4]"), bytes(4))
    bad("overlap-part", "offsets", 'overlaps tensor "a"', two("[0,4]", "[2,6]"), bytes(6))
    bad("overlap-no-elements", "offsets", 'overlaps tensor "a"',
        obj('"a":' + entry(), '"b":' + entry("U8", "[0]", "[3,3]")))
    bad("reversed", "offsets", "end before they begin", one(entry(offsets="[8,0]")))
    bad("reversed-from-0", "offsets", "end before they begin", two("[0,4]", "[4,0]"), bytes(4))
    bad("reversed-wraps", "offsets", "end before they begin", one(entry("U8", "[8]", "[18446744073709551608,0]")))
    bad("no-elements-at-8", "offsets", "a hole of 8 byte(s)", one(entry("U8", "[0]", "[8,8]")))
    bad("size-small", "size", "do not span", one(entry("F32", "[4]")))
    bad("size-large", "size", "do not span", one(entry("F32", "[1]")))
    bad("size-dtype", "size", "do not span", one(entry("F16", "[2]")))
    bad("size-scalar", "size", "do not span", one(entry("F32", "[]")))
    bad("size-no-bytes", "size", "do not span", one(entry("F32", "[1]", "[0,0]")), b"")
    bad("size-before-offset", "size", "do not span", two("[0,3]", "[9,13]"), bytes(8))
    bad("offset-before-size", "offsets", "a hole", two("[1,3]", "[3,4]"), bytes(8))
    for name, dtype, shape, offsets in (("f4-odd", "F4", "[3]", "[0,2]"), ("f4-floor", "F4", "[3]", "[0,1]"),
                                        ("f4-scalar", "F4", "[]", "[0,1]"), ("f6-one", "F6_E3M2", "[1]", "[0,1]"),
                                        ("f6-two", "F6_E2M3", "[2]", "[0,2]")):
        bad("bits-" + name, "bits", "do not fill whole bytes", one(entry(dtype, shape, offsets)), bytes(2))
    for name, dtype, shape, fragment in (
            ("elements", "F32", "[4294967296,4294967296,1]", "more elements"),
            ("zero-late", "F32", "[9223372036854775808,2,0]", "more elements"),
            ("bits", "F64", "[288230376151711744]", "more bits"),
            ("bits-not-bytes", "U8", "[2305843009213693952]", "more bits"),
            ("wraps-to-8", "F32", "[4611686018427387906]", "more bits"),
            ("f4", "F4", "[4611686018427387904]", "more bits")):
        bad("overflow-" + name, "overflow", fragment, one(entry(dtype, shape)))
    bad("data-short", "short", "2 byte(s) short: 1 of 2 tensors", two("[0,4]", "[4,8]"), bytes(6))
    bad("data-none", "short", "8 byte(s) short: 2 of 2 tensors", two("[0,4]", "[4,8]"), b"")
    bad("data-huge", "short", "1152921504606846976 byte(s) short",
        one(entry("U8", "[1152921504606846976]", "[0,1152921504606846976]")), b"")
    nine = [(i << 61) - i for i in range(9)] + [(1 << 64) - 1]
    members = []
    for i, (a, b) in enumerate(zip(nine, nine[1:])):
        members.append('"t%d":%s' % (i, entry("U8", "[%d]" % (b - a), "[%d,%d]" % (a, b))))
    bad("data-sum-wraps", "short", "byte(s) short", obj(*members))
    bad("trailing-one", "trailing", "1 byte(s) follow", one(entry()), bytes(9))
    bad("trailing-newline", "trailing", "1 byte(s) follow", one(entry()), bytes(8) + b"\n")
    bad("trailing-zip", "trailing", "22 byte(s) follow", one(entry()), bytes(8) + b"PK\5\6" + bytes(18))
    bad("trailing-no-tensors", "trailing", "names no tensor", "{}", bytes(3))


def main():
    for old in os.listdir(OUT):
        if old.endswith(".safetensors"):
            os.remove(os.path.join(OUT, old))
    for part in (good_files, bad_starts, bad_text, bad_table, bad_fields, bad_layout):
        part()
    with open(os.path.join(OUT, "EXPECT.tsv"), "w", encoding="utf-8", newline="\n") as f:
        f.write("# file, verdict, fault, and of a good file its tensors, metadata entries and flags (L leading space,\n"
                "# U unpadded, M misaligned), of a bad one a part of the message\n")
        f.write("\n".join(sorted(EXPECT)) + "\n")


if __name__ == "__main__":
    main()
