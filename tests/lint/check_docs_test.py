#!/usr/bin/env python3
"""check_docs_test.py SCRIPT: the document check finds each kind of fault, and nothing in a tree without one."""
import subprocess
import sys
import tempfile
from pathlib import Path

GOOD = {
    "README.md": "# House\n\n## A room, too\n\nSee [the tour](docs/tour.md#where-to-look) and [above](#a-room-too); `a/b.h`.\n",
    "CMakeLists.txt": "project(tilewave VERSION 1.2.3 LANGUAGES CXX)\n",
    "pyproject.toml": 'version = "1.2.3"\n',
    "CITATION.cff": "version: 1.2.3\n",
    "docs/tour.md": "# Tour\n\n## Where to look\n\n| room | what |\n|---|---|\n| `src/tilewave/a/` | x |\n| `tests/t/` | x |\n"
                    "| `bench/` | x |\n\n```\n[no link](nowhere.md)\n```\n",
    "docs/environment.md": "# Variables\n\n| variable | value |\n|---|---|\n| `TILEWAVE_ONE` | 1 |\n",
    "docs/glossary.md": "# Words\n\n| word | what | standard term | in the code |\n|---|---|---|---|\n"
                        "| lift | x | y | `kLift` → `kGivens` |\n| door | x | y | - |\n",
    "docs/notebook/README.md": "- [one](2026-01-02-one.md)\n",
    "docs/notebook/2026-01-02-one.md": "# One\n\nDate: 2026-01-02.\n\nMachine: this.\n\nCommands:\n\n```\nrun\n```\n\n`gone.cc`\n",
    "docs/decisions/README.md": "| [0001](0001-x.md) | First | accepted |\n| [0002](0002-y.md) | Second | accepted |\n",
    "docs/decisions/0001-x.md": "# 0001: First\n\n**Status:** accepted, narrowed by [0002](0002-y.md): how.\n\n**Context.** c\n"
                                "**Choice.** c\n**Numbers.** n\n**Would change our mind.** w\n",
    "docs/decisions/0002-y.md": "# 0002: Second\n\n**Status:** accepted. Narrows [0001](0001-x.md).\n\n**Context.** c\n"
                                "**Choice.** c\n**Numbers.** n\n**Would change our mind.** w\n",
    "src/tilewave/a/b.h": '#define TILEWAVE_A_B_H_\nenum { kLift };  // getenv("TILEWAVE_ONE")\n',
    "tests/t/t.py": "",
    "bench/b.py": "",
}
CASES = [  # file, text in it, what stands there instead (None: the file is gone), words that must be reported
    ("README.md", "docs/tour.md#", "docs/trip.md#", "docs/trip.md#where-to-look leads nowhere"),
    ("README.md", "#where-to-look", "#where", "has no such heading"),
    ("README.md", "#a-room-too", "#a-room", "has no such heading"),
    ("README.md", "`a/b.h`", "`a/c.h`", "there is no file a/c.h"),
    ("CITATION.cff", "1.2.3", "1.2.4", "CITATION.cff: the version is 1.2.4, and 1.2.3 in CMakeLists.txt"),
    ("pyproject.toml", "1.2.3", "1.2", "pyproject.toml: the version is 1.2,"),
    ("src/tilewave/a/b.h", "TILEWAVE_ONE", "TILEWAVE_TWO", "TILEWAVE_TWO is in the source"),
    ("src/tilewave/a/b.h", "TILEWAVE_ONE", "TILEWAVE_TWO", "nothing reads TILEWAVE_ONE"),
    ("src/tilewave/a/b.h", "kLift", "kGivens", "kLift is not in the code"),
    ("docs/tour.md", "| `tests/t/` | x |\n", "", "the folder tests/t/ is not in its tables"),
    ("docs/tour.md", "`bench/`", "`benches/`", "there is no folder benches/"),
    ("docs/glossary.md", "| door |", "| lift |", "'lift' is defined twice"),
    ("docs/notebook/2026-01-02-one.md", "Machine: this.\n\n", "", "a page begins with"),
    ("docs/notebook/README.md", "2026-01-02-one.md", "README.md", "not in the index"),
    ("docs/decisions/0001-x.md", "**Status:** accepted, narrowed", "**Status:** narrowed", "say '**Status:** accepted.'"),
    ("docs/decisions/0002-y.md", " Narrows [0001](0001-x.md).", "", "0002 does not say that it narrows or supersedes it"),
    ("docs/decisions/0002-y.md", "# 0002: Second", "# 0002: Another", "the index has another title"),
    ("docs/decisions/0002-y.md", "**Numbers.** n\n", "", "needs Context, Choice, Numbers"),
]


def problems(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, sys.argv[1], folder], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr


failures = 0
code, output = problems(GOOD)
if code:
    failures += 1
    print(f"a tree without a fault: exit {code}:\n{output}")
for name, old, new, words in CASES:
    assert old in GOOD[name], (name, old)
    code, output = problems({**GOOD, name: GOOD[name].replace(old, new)})
    if code != 1 or words not in output:
        failures += 1
        print(f"{name}, '{new}' for '{old}': expected '{words}', got exit {code}:\n{output}")
print(f"{len(CASES) + 1} cases, {failures} failures")
sys.exit(1 if failures else 0)
