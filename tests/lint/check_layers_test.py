#!/usr/bin/env python3
"""check_layers_test.py SCRIPT: the layer check finds each kind of violation, and only those."""
import subprocess
import sys
import tempfile
from pathlib import Path

GUARD = "#pragma once\n"
CASES = [  # path below src/tilewave, text, words that must be reported (None: clean)
    ("statevec/ok.h", GUARD + '#include <vector>\n#include "tilewave/formats/npy/npy.h"\n', None),
    ("statevec/kernel-inl.h", "#include <hwy/highway.h>\n", None),
    ("runtime/back_end.cc", "#if defined(TW_HAVE_CUDA)\n#endif\n", None),
    ("cli/run.cc", '#include <CLI/CLI.hpp>\n#include "tilewave/simulate/simulate.h"\n', None),
    ("language/up.cc", '#include "tilewave/statevec/state.h"\n', "up"),
    ("statevec/side.cc", '#include "tilewave/stabilizer/tableau.h"\n', "sideways"),
    ("circuit/side.h", GUARD + '#include "tilewave/runtime/timer.h"\n', "sideways"),
    ("formats/side.cc", '#include "tilewave/language/circuit_file.h"\n', "sideways"),
    ("cli/side.cc", '#include "tilewave/quest/quest.h"\n', "sideways"),
    ("field/back_end.cc", "#ifdef __CUDACC__\n#endif\n", "back end"),
    ("field/plain.cc", "#if defined(__x86_64__)\n#endif\n", "processor"),
    ("field/cpu/simd.cc", "#if defined(__x86_64__)\n#endif\n", None),
    ("language/third.h", GUARD + "#include <fmt/format.h>\n", "third-party"),
    ("language/guard.h", "int x();\n", "pragma once"),
    ("language/names.h", GUARD + "using namespace std;\n", "using namespace"),
    ("language/public.cc", '#include "tilewave/error.h"\n', None),
    ("language/door.cc", '#include "tilewave/session.h"\n', "public header"),
    ("language/number.cc", "double x = std::strtod(text, &end);\n", "locale"),
    ("language/other_number.cc", "double x = std::atof(text);\n", "locale"),
    ("language/words.cc", "// as strtod() reads them\n", None),
    ("language/number_test.cc", "double x = std::strtod(text, &end);\n", None),
    ("attic/x.cc", "int x;\n", "no level"),
    ("field/long.cc", "int x;\n" * 501, "501 lines"),
    ("field/less.cc", "int x;\n" * 500, None),
]

# name, {path below src/tilewave: files of src/tilewave that it includes}, includes that must be reported as parts of a circle
CIRCLES = [
    ("none", {"field/run/a.cc": ["field/map.h", "field/cpu/b.h"], "field/cpu/b.h": ["field/map.h"], "field/map.h": ["base/c.h"],
              "base/c.h": []}, []),
    ("two", {"field/a.cc": ["field/map.h", "field/cpu/b.h"], "field/cpu/b.h": ["field/map.h"], "field/map.h": []},
     ["field/a.cc:3: 'tilewave/field/cpu/b.h'", "field/cpu/b.h:2: 'tilewave/field/map.h'"]),
    ("three", {"field/a.h": ["field/cpu/b.h"], "field/cpu/b.h": ["field/jit/c.h"], "field/jit/c.h": ["field/a.h"],
               "field/run/d.h": ["field/a.h"]},
     ["field/a.h:2: 'tilewave/field/cpu/b.h'", "field/cpu/b.h:2: 'tilewave/field/jit/c.h'",
      "field/jit/c.h:2: 'tilewave/field/a.h'"]),
    ("two circles", {"field/a.h": ["field/cpu/b.h"], "field/cpu/b.h": ["field/a.h"], "statevec/a.h": ["statevec/cpu/b.h"],
                     "statevec/cpu/b.h": ["statevec/a.h"]},
     ["field/a.h:2: 'tilewave/field/cpu/b.h'", "field/cpu/b.h:2: 'tilewave/field/a.h'",
      "statevec/a.h:2: 'tilewave/statevec/cpu/b.h'", "statevec/cpu/b.h:2: 'tilewave/statevec/a.h'"]),
    ("through a test", {"field/a_test.cc": ["field/cpu/b.h"], "field/cpu/b.h": ["field/map.h"], "field/map.h": []}, []),
]


def run(files):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            file = Path(folder) / "src" / "tilewave" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        done = subprocess.run([sys.executable, sys.argv[1], folder], capture_output=True, text=True)
        return done.returncode, done.stdout


failures = 0
for path, text, words in CASES:
    code, output = run({path: text})
    good = code == 0 if words is None else code == 1 and words in output
    if not good:
        failures += 1
        print(f"{path}: expected {words or 'no problem'}, got exit {code}:\n{output}")
for name, files, includes in CIRCLES:
    code, output = run({path: GUARD + "".join(f'#include "tilewave/{other}"\n' for other in others) for path, others in files.items()})
    found = [line for line in output.splitlines() if "circle of folders" in line]
    good = code == (1 if includes else 0) and len(found) == len(includes) and all(
        any(line.startswith("src/tilewave/" + include) for line in found) for include in includes)
    if not good:
        failures += 1
        print(f"circle '{name}': expected {includes}, got exit {code}:\n{output}")
print(f"{len(CASES) + len(CIRCLES)} cases, {failures} failures")
sys.exit(1 if failures else 0)
