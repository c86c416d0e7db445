# SPDX-License-Identifier: Apache-2.0
"""The arithmetic of GPTQ checkpoints, one value at a time on Python integers.

Nothing here is fast and nothing is shared with the C library: this is the
second opinion that the library is compared with.

A packed row is one little-endian bit stream: value i holds bits [b*i, b*i+b)
of the words laid end to end.  That covers 2, 4 and 8 bits in words of any
size and the 3-bit layout, where values 10 and 21 straddle two words.
"""
import hashlib
import struct

WORD_BITS = {"I8": 8, "I16": 16, "I32": 32, "I64": 64}
FLOAT_BYTES = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8}
STYLES = ("lane", "word", "gptqmodel-3bit", "smeared")

# What one subtraction of 1 from each 3-bit lane of three words would be, and
# what GPTQModel 0.9.0 to 6.x subtracted instead: first and third swapped.
LEGACY_3BIT = (0x24924924, 0x92492492, 0x49249249)


def pack(values, bits, word_bits, words):
    """The words that hold these values; lanes past the last value are 0."""
    stream = 0
    for i, v in enumerate(values):
        stream |= v << (bits * i)
    mask = (1 << word_bits) - 1
    return [(stream >> (word_bits * w)) & mask for w in range(words)]


def unpack(words, bits, word_bits, count):
    stream = 0
    for w, v in enumerate(words):
        stream |= v << (word_bits * w)
    mask = (1 << bits) - 1
    return [(stream >> (bits * i)) & mask for i in range(count)]


def lanes_of(words, bits, word_bits):
    """How many whole lanes the words hold, padding included."""
    return words * word_bits // bits


def shift_row(lanes, bits, word_bits, words, style, direction):
    """One row of qzeros, all its lanes, shifted by direction (-1: to v1, +1: to v2).

    Returns the words.  A lane that does not fit whole (3 bits, width no
    multiple of 32) keeps its bits.
    """
    row = pack(lanes, bits, word_bits, words)
    if style == "gptqmodel-3bit" and bits == 3:
        mask = (1 << word_bits) - 1
        return [(w + direction * LEGACY_3BIT[i % 3]) & mask for i, w in enumerate(row)]
    if style in ("word", "gptqmodel-3bit") and bits != 3:
        ones = sum(1 << i for i in range(0, word_bits, bits))
        return [(w + direction * ones) & ((1 << word_bits) - 1) for w in row]
    assert style in ("lane", "word"), style
    top = 1 << bits
    return pack([(x + direction) % top for x in lanes], bits, word_bits, words)


def smear_row(zeros, bits, words):
    """One row of v1 qzeros as AutoGPTQ's pack() ORs it together: zero - 1 as a
    32-bit word, shifted and not masked, so that -1 fills the lanes above."""
    full = 0xFFFFFFFF
    minus_one = [(z - 1) & full for z in zeros]
    row = [0] * words
    if bits != 3:
        lanes = 32 // bits
        for i, x in enumerate(minus_one):
            row[i // lanes] |= (x << (bits * (i % lanes))) & full
        return row
    for block in range(0, len(zeros), 32):
        x, w = minus_one[block:block + 32], block * 3 // 32
        for j in range(10):
            row[w] |= (x[j] << (3 * j)) & full
        row[w] |= (x[10] << 30) & full
        row[w + 1] |= (x[10] >> 2) & 1
        for j in range(11, 21):
            row[w + 1] |= (x[j] << (3 * (j - 11) + 1)) & full
        row[w + 1] |= (x[21] << 31) & full
        row[w + 2] |= (x[21] >> 1) & 3
        for j in range(22, 32):
            row[w + 2] |= (x[j] << (3 * (j - 22) + 2)) & full
    return row


def words_to_bytes(words, word_bits):
    return b"".join(w.to_bytes(word_bits // 8, "little") for w in words)


def bytes_to_words(raw, word_bits):
    size = word_bits // 8
    return [int.from_bytes(raw[i:i + size], "little") for i in range(0, len(raw), size)]


def float_from_bits(raw, dtype):
    if dtype == "F16":
        return struct.unpack("<e", raw)[0]
    if dtype == "BF16":
        return struct.unpack("<f", b"\0\0" + raw)[0]
    return struct.unpack("<f", raw)[0]


def bits_from_float(x, dtype):
    """Rounds a double once, to nearest even.  Every product of a scale and an
    integer below 2^9 is exact in a double, so this is the rounding of section 7."""
    if x != x:
        return {"F16": b"\x00\x7e", "BF16": b"\xc0\x7f", "F32": b"\x00\x00\xc0\x7f"}[dtype]
    if dtype == "F16":
        try:
            return struct.pack("<e", x)
        except OverflowError:
            return b"\x00\x7c" if x > 0 else b"\x00\xfc"
    try:
        single = struct.pack("<f", x)
    except OverflowError:
        single = b"\x00\x00\x80\x7f" if x > 0 else b"\x00\x00\x80\xff"
    if dtype == "F32":
        return single
    u = int.from_bytes(single, "little")
    u = (u + 0x7FFF + ((u >> 16) & 1)) >> 16
    return u.to_bytes(2, "little")


def weights_sha256(codes, zeros, scales, group_of_row, dtype):
    """Section 7: SHA-256 of s * (q - z) as [K][N], scales given as raw bytes.

    codes[k][n], zeros[g][n], scales[g][n]; a product is computed once for each
    pair of scale and difference.
    """
    digest = hashlib.sha256()
    known = {}
    for k, row in enumerate(codes):
        g = group_of_row[k]
        line = []
        for q, z, s in zip(row, zeros[g], scales[g]):
            key = (s, q - z)
            w = known.get(key)
            if w is None:
                w = known[key] = bits_from_float(float_from_bits(s, dtype) * (q - z), dtype)
            line.append(w)
        digest.update(b"".join(line))
    return digest.hexdigest()
