# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays above 4 Kbit that are known not to become block RAM, with the reason; for `tools/area.py`.

The key is the unit, a colon and the array. An array that is not here fails `make area`, and so does an entry that is block RAM by now.
"""

KNOWN = {
    "desc_fetch:raw_mem": "the read is registered, but 32 words of 512 bits would fill 15 block RAMs to a twentieth",
    "packetizer:header_q": "the header of a FIFO is read in the cycle in which the FIFO is chosen",
    "flow_store:u_headers.mem": "the read is registered, but 32 words of 288 bits would fill 8 block RAMs to a sixteenth",
}
