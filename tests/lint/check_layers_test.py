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
]


def run(path, text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "src" / "tilewave" / path
        file.parent.mkdir(parents=True)
        file.write_text(text)
        done = subprocess.run([sys.executable, sys.argv[1], folder], capture_output=True, text=True)
        return done.returncode, done.stdout


failures = 0
for path, text, words in CASES:
    code, output = run(path, text)
    good = code == 0 if words is None else code == 1 and words in output
    if not good:
        failures += 1
        print(f"{path}: expected {words or 'no problem'}, got exit {code}:\n{output}")
print(f"{len(CASES)} cases, {failures} failures")
sys.exit(1 if failures else 0)
