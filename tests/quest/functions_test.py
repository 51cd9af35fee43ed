"""functions_test.py HEADER TESTS: every function of the C API has a comment of its own in the header, is called by a
test of numbers and by a test of misuse (but for those that no argument can be wrong of)."""
import re
import sys
from pathlib import Path

header, tests = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
COUNT = 156 + 6 + 4  # QuEST 3.7; u1Gate, u2Gate, u3Gate, SqX, SqY, SqW; tilewave_saveQureg, _loadQureg, _seedQuEST, _seedQuESTDefault
NO_MISUSE = {"createQuESTEnv", "tilewave_seedQuESTDefault", "destroyQuESTEnv", "syncQuESTEnv", "syncQuESTSuccess", "reportQuESTEnv",
             "invalidQuESTInputError",
             # as free(): a null pointer is nothing to free
             "destroyDiagonalOp", "destroySubDiagonalOp", "destroyPauliHamil"}
C_ONLY = {"initComplexMatrixN", "bindArraysToStackComplexMatrixN"}  # in program.c

prototypes = re.finditer(r"(?m)^(?:\w+ )+\**(\w+)\((?:[^;{}]*)\);", header)
names = [(m.group(1), header[:m.start()].rstrip()) for m in prototypes]
sources = {p.name: p.read_text() for p in tests.glob("*.c*")}
numbers = "\n".join(t for n, t in sources.items() if n.endswith(("_test.cc", "dense.cc", "program.c")) and "misuse" not in n)
misuse = "\n".join(t for n, t in sources.items() if "misuse" in n)
problems = []
if len(names) != COUNT or len({n for n, _ in names}) != COUNT:
    problems.append(f"{len(names)} functions in the header, {COUNT} wanted")
for name, before in names:
    if not before.endswith("*/") or before.endswith("---- */"):
        problems.append(f"{name} has no comment of its own")
    if not re.search(rf"\b{name}\b", numbers) and name not in ("invalidQuESTInputError",):
        problems.append(f"{name} is in no test of numbers")
    if name not in NO_MISUSE | C_ONLY and not re.search(rf"\b{name}\(", misuse):
        problems.append(f"{name} is in no test of misuse")
print(f"{len(names)} functions")
for problem in problems:
    print("FAILED:", problem)
sys.exit(1 if problems else 0)
