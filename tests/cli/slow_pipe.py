#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Passes a file on in chunks of odd sizes: 1, 2, 3, 5, 8, ... bytes, beginning with SIZE. usage: slow_pipe.py FILE SIZE"""
import os
import sys

with open(sys.argv[1], "rb") as f:
    a, b = int(sys.argv[2]), int(sys.argv[2]) + 1
    while True:
        chunk = f.read(a)
        if not chunk:
            break
        os.write(1, chunk)
        a, b = (b, a + b) if a < 70000 else (1, 2)
