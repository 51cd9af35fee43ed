#!/usr/bin/env python3
"""check_statics.py [ROOT]: what outlives a call lives in a simulate::Session, or is listed here with the reason why not.

Looks for mutable variables of static storage in src/tilewave that say so: static and thread_local. Constants, functions and
the counters that look for interrupts are none.
"""
import re
import sys
from pathlib import Path

# file below src/tilewave, name: why it belongs to the process and to no session
ALLOWED = {
    # facts of the machine and of the process, found once
    ("runtime/cost_cache.cc", "mutex"): "guards `known`",
    ("runtime/cost_cache.cc", "known"): "measured rates of this machine, as on disk",
    ("statevec/rates/rates_file.cc", "one"): "guards `all`",
    ("statevec/rates/rates_file.cc", "all"): "measured rates of this machine, as on disk",
    ("statevec/tile/device_numbers.cc", "mutex"): "guards `kept`",
    ("statevec/tile/device_numbers.cc", "kept"): "costs of operations on devices, as in those files",
    ("runtime/cuda/driver.cc", "mutex"): "guards `known`",
    ("runtime/cuda/driver.cc", "known"): "properties of devices",
    ("runtime/cuda/memory.cc", "one"): "memory of a device that its owners can do without, for whoever runs out of it",
    ("runtime/cuda/driver.cc", "real"): "the loaded driver library",
    ("runtime/cuda/driver.cc", "replaced"): "a driver that tests put in its place",
    ("runtime/nvrtc.cc", "mutex"): "guards `loaded`",
    ("runtime/nvrtc.cc", "loaded"): "compiler libraries",
    ("runtime/threads.cc", "most_started"): "threads that OpenMP has started",
    ("runtime/threads.cc", "is_limited"): "whether a ThreadLimit stands, beside the number that OpenMP keeps for the thread",
    ("runtime/waiting.cc", "before"): "the last reading of a thread's clock",
    ("runtime/waiting.cc", "one"): "how OpenMP waits",
    ("formats/raster/tiff_tags.cc", "once"): "libtiff is told of tags once",
    ("runtime/ranks.cc", "ranks"): "a process belongs to one run",
    ("runtime/cuda/driver.cc", "mutex"): "guards `allowed`",
    ("runtime/cuda/driver.cc", "allowed"): "kernels whose shared memory the driver was told of",
    ("runtime/background.cc", "owned"): "threads for work that nobody waits for; they end with the process",
    # connections between processes cannot be made twice
    ("statevec/cuda/ipc_transport.cu", "joined"): "memory shared with other processes",
    ("runtime/cuda/nccl.cc", "mutex"): "guards `all`",
    ("runtime/cuda/nccl.cc", "all"): "communicators of NCCL",
    # compiled kernels and device memory, which belong to a CUDA context and so to the process
    ("runtime/cuda/jit_cache.cc", "value"): "what TILEWAVE_JIT says",
    ("runtime/cuda/jit_cache.cc", "cache"): "the same where somebody has asked for them",
    ("runtime/cuda/jit_cache.cc", "owned"): "compiled kernels; its threads end with the process",
    ("runtime/cuda/jit_cache.cc", "once"): "whether the process waits for its compiler as it ends",
    ("statevec/cuda/workspace.cc", "mutex"): "guards `all` and `kept`",
    ("statevec/cuda/workspace.cc", "all"): "working memory that states of a device share",
    ("statevec/cuda/workspace.cc", "kept"): "the same, for later states",
    ("field/jit/map_cuda.cc", "all"): "compiled maps",
    # scratch memory and the state of a thread
    ("statevec/sweep.cc", "block"): "scratch memory",
    ("statevec/cpu/pass_runner.cc", "w"): "scratch memory",
    ("statevec/cpu/dense_kernels.cc", "scratch"): "scratch memory",
    ("statevec/cpu/block_kernels.cc", "way"): "the last way a thread stored rows",
    ("statevec/cpu/addressing.cc", "last_number"): "numbers of address tables",
    ("stabilizer/sample/sampler.cc", "scratch"): "scratch memory",
    ("base/interrupt.cc", "last_poll"): "when a thread asked",
    ("base/interrupt.cc", "of_thread"): "the loop a thread works for",
    # the C API of QuEST has handles and one random number generator a process
    ("quest/core/slots.cc", "instance"): "handles of registers",
    ("quest/core/faults.cc", "instance"): "arrays that programs write to",
    ("quest/core/mirror.cc", "instance"): "address space of such arrays that are gone, for later ones",
    ("quest/core/faults.cc", "t_serving"): "a fault that is being served",
    ("quest/core/random.cc", "instance"): "the generator of seedQuEST",
    ("quest/core/register.cc", "last"): "numbers of registers",
    ("quest/core/session.h", "current_call"): "the function a program called last, for messages",
    ("quest/core/session.cc", "text"): "a message that C programs read",
}
SKIPPED = re.compile(r"_test\.(cc|cu)$|/testing/|^python/|^cli/")  # front ends end with their process
FUNCTION = re.compile(r"^[^=;{(]*\((?![\d\"])")  # a parenthesis first, and no number in it
LOCAL = re.compile(r"^\s*(?:inline\s+)?(?:static\s+thread_local|thread_local\s+static|thread_local|static)\s+(?!const\b|constexpr\b|inline\b|_)(.*)$")
NAME = re.compile(r"(\w+)(?:\[[^\]]*\])?\s*(?:=|\{|;|\()")


def variables(text):
    """Names of mutable variables of static storage."""
    for line in text.splitlines():
        found = LOCAL.match(line)
        if not found:
            continue
        rest = found[1]
        if "static_cast" in rest.split("=")[0] or re.match(r"(TW_|__device__|HWY_|.*\b(constexpr|__global__)\b)", rest):
            continue
        if re.match(r"(?:const\s+[\w:<>, ]+|[\w:<>, ]+\s+const)\s*[&]?\s*\w+\s*(=|\{|;)", rest) and "*" not in rest.split("=")[0]:
            continue  # constants
        if FUNCTION.match(rest) or rest.startswith("InterruptCounter "):
            continue
        name = NAME.search(rest)
        if name:
            yield name[1]


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve() / "src" / "tilewave"
    problems, seen = 0, set()
    for path in sorted([*root.rglob("*.cc"), *root.rglob("*.cu"), *root.rglob("*.h"), *root.rglob("*.cuh")]):
        inside = str(path.relative_to(root))
        if SKIPPED.search(inside):
            continue
        for name in variables(path.read_text(errors="replace")):
            seen.add((inside, name))
            if (inside, name) not in ALLOWED:
                problems += 1
                print(f"src/tilewave/{inside}: the variable '{name}' outlives its call: keep it in a Session")
    for inside, name in sorted(set(ALLOWED) - seen):
        if (root / inside).exists() or root.name == "tilewave":
            problems += 1
            print(f"scripts/check_statics.py: there is no variable '{name}' in {inside}: take it off the list")
    print(f"statics: {len(seen)} in all, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
