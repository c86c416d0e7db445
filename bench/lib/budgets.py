# SPDX-License-Identifier: Apache-2.0
"""What is allowed, and what was reached."""
from dataclasses import dataclass

from .models import MIB

CONVERT = 1.10  # times cp and sync
CONVERT_SHARED = 0.10  # the same where blocks can be shared
SHARED_BYTES = 1.2  # new bytes there, times qzeros
IN_PLACE_BYTES = 2.1  # written, times qzeros
IN_PLACE = 0.05  # times cp and sync
HEADERS = 0.10  # times Python


@dataclass
class Budget:
    what: str
    value: float
    limit: float
    at_least: bool = False
    form: str = "{:.3f}"
    remark: str = ""

    @property
    def met(self):
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def cells(self):
        """As a row of the table of budgets."""
        limit = ("at least " if self.at_least else "at most ") + self.form.format(self.limit)
        return [self.what, limit, self.form.format(self.value), "met" if self.met else "**missed**", self.remark]


def memory(what, peak, largest_header):
    return Budget(f"{what}: peak memory, MiB", peak / MIB, 64 + 10 * largest_header / MIB, form="{:.1f}",
                  remark=f"64 MiB and ten times the largest header, {largest_header / MIB:.2f} MiB")

