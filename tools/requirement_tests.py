#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the tests of each requirement, by the ids at the beginning of their names.

    tools/requirement_tests.py          all requirements of docs/requirements.md
    tools/requirement_tests.py HW-4...  these

Exit status 1 if an id is no requirement.
"""

import re
import sys
from pathlib import Path

from test_names import tests_of

ROOT = Path(__file__).resolve().parent.parent
ROW = re.compile(r"\| ([A-Z]+-\d+) \| ([^|]*) \| ([^|]*) \|")


def tests():
    """Requirement, file and name of each test, once for each id in its name."""
    for path in sorted(ROOT.rglob("*.rs")):
        file = path.relative_to(ROOT)
        if file.parts[0] in ("target", ".tools"):
            continue
        for name, ids, _ in tests_of(path.read_text()):
            yield from ((requirement, str(file), name) for requirement in ids)


def main():
    text = (ROOT / "docs/requirements.md").read_text()
    rows = {row[0]: row[1:] for row in ROW.findall(text)}
    chosen = sys.argv[1:] or list(rows)
    of_id = {}
    for requirement, file, name in tests():
        of_id.setdefault(requirement, []).append((file, name))
    unknown = [requirement for requirement in chosen if requirement not in rows]
    for requirement in unknown:
        print(f"{requirement}: no requirement of docs/requirements.md", file=sys.stderr)
    for requirement in chosen:
        if requirement in rows:
            title, state = rows[requirement]
            found = of_id.get(requirement, [])
            print(f"{requirement} {title}: {state}, {len(found)} tests")
            width = max((len(file) for file, _ in found), default=0)
            for file, name in found:
                print(f"    {file:{width}}  {name}")
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
