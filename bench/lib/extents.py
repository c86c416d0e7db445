# SPDX-License-Identifier: Apache-2.0
"""Which bytes of a file are its own and not shared with another, as the kernel's FIEMAP tells."""
import fcntl
import os
import struct

FS_IOC_FIEMAP = 0xC020660B
SYNC, LAST, SHARED = 0x1, 0x1, 0x2000
HEAD, EXTENT = struct.Struct("=QQLLLL"), struct.Struct("=QQQQQLLLL")
AT_ONCE = 512


def extents(fd):
    """(offset, length, flags) of each extent."""
    start = 0
    while True:
        asked = bytearray(HEAD.pack(start, 2**64 - 1 - start, SYNC, 0, AT_ONCE, 0) + bytes(EXTENT.size * AT_ONCE))
        fcntl.ioctl(fd, FS_IOC_FIEMAP, asked)
        found = HEAD.unpack_from(asked)[3]
        if found == 0:
            return
        for i in range(found):
            offset, _, length, _, _, flags, *_ = EXTENT.unpack_from(asked, HEAD.size + i * EXTENT.size)
            yield offset, length, flags
            if flags & LAST:
                return
        start = offset + length


def own_bytes(paths):
    total = 0
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            total += sum(length for _, length, flags in extents(fd) if not flags & SHARED)
        finally:
            os.close(fd)
    return total
