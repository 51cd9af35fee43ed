#!/usr/bin/env python3
"""check_embedded.py [ROOT]: GPU kernels that are compiled at run time find every header that they include.

Their sources are embedded in the program, from the lists `jit_files` of MODULES' CMakeLists.txt. A header that is
missing there would be noticed on a GPU only, where passes would stay with the interpreter. Where the compiler library NVRTC
is installed, the headers are compiled as the program has them compiled; that takes no GPU.
"""
import ctypes
import glob
import re
import sys
from pathlib import Path


def load_compiler():
    for name in ["libnvrtc.so", *sorted(glob.glob("/usr/local/cuda*/**/libnvrtc.so*", recursive=True))]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


# the module, and what its sources include
MODULES = {"statevec": "tilewave/statevec/cuda/jit_kernel.cuh", "parametric": "tilewave/parametric/cuda/compiled_strings.cuh"}


def compile_problems(root, headers, first):
    """What NVRTC says of a program that includes them all; None where there is no NVRTC."""
    nvrtc = load_compiler()
    if nvrtc is None:
        return None
    cache = (root / "src/tilewave/runtime/cuda/jit_cache.cc").read_text()
    listed = re.search(r"with_standard_headers.*?for \(const char\* name : *\{([^}]*)\}", cache, re.S)[1]
    for name in re.findall(r'"([^"]+)"', listed):
        headers = {**headers, name: headers["tilewave/runtime/cuda/jit_std.cuh"]}
    program, strings = ctypes.c_void_p(), ctypes.c_char_p * len(headers)
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), f'#include "{first}"\n'.encode(), b"program.cu", len(headers),
                             strings(*(t.encode() for t in headers.values())), strings(*(n.encode() for n in headers)))
    count = ctypes.c_int()
    nvrtc.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    supported = (ctypes.c_int * count.value)()
    nvrtc.nvrtcGetSupportedArchs(supported)
    for architecture in supported:
        options = [f"--gpu-architecture=sm_{architecture}".encode(), b"--std=c++20", b"-default-device"]
        if architecture >= 75 and nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options)) != 0:
            break
    else:
        return ""
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    return log.value.decode(errors="replace")


def check_module(root, module, first):
    text = (root / "src/tilewave" / module / "CMakeLists.txt").read_text()
    files = ["tilewave/" + name for name in re.search(r"set\(jit_files ([^)]*)\)", text)[1].split()]
    problems, headers = 0, {}
    for name in files:
        path = next((root / top / name for top in ("include", "src") if (root / top / name).exists()), None)
        if path is None:
            print(f"jit_files of {module} names {name}, which does not exist")
            problems += 1
            continue
        headers[name] = path.read_text()
        for included in re.findall(r'^\s*#\s*include\s*"(tilewave/[^"]+)"', headers[name], re.M):
            if included not in files:
                print(f"{path.relative_to(root)} includes {included}: add it to jit_files of {module}")
                problems += 1
    said = compile_problems(root, headers, first) if not problems else None
    if said:
        print(said)
        problems += 1
    print(f"embedded: {module}, {len(files)} files, {'not compiled: no NVRTC' if said is None else 'compiled'}, {problems} problems")
    return problems + (not files)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    return 1 if sum(check_module(root, module, first) for module, first in MODULES.items()) else 0


if __name__ == "__main__":
    sys.exit(main())
