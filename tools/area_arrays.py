# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays above 4 Kbit that are known not to become block RAM, with the reason; for `tools/area.py`.

The key is the unit, a colon and the array. Each entry is a debt: an array that is not here fails `make area`.
"""

KNOWN = {}
