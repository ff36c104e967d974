# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names of the tests in a Rust source, and the ids of requirements that they begin with."""

import re

TEST = re.compile(r"#\[test\](?:\s*#\[[^\n]*\])*\s*(?:pub )?fn (\w+)")
ID = re.compile(r"(hw|ep|fn|af|ak|ct|x)(\d+)_")


def tests_of(source):
    """Name, ids (`HW-1`) and subject, what follows the ids, of each test of a source."""
    for name in TEST.findall(source):
        ids, subject = [], name
        while match := ID.match(subject):
            ids.append(f"{match[1].upper()}-{match[2]}")
            subject = subject[match.end() :]
        yield name, ids, subject
