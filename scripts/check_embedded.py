#!/usr/bin/env python3
"""check_embedded.py [ROOT]: GPU kernels that are compiled at run time find every header that they include.

Their sources are embedded in the program, from the list `jit_files` of src/tilewave/statevec/CMakeLists.txt. A header that is
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


def compile_problems(root, headers):
    """What NVRTC says of a program that includes them all; None where there is no NVRTC."""
    nvrtc = load_compiler()
    if nvrtc is None:
        return None
    listed = re.search(r"kStandard\[\] = \{([^}]*)\}", (root / "src/tilewave/statevec/cuda/jit_files.cc").read_text())[1]
    for name in re.findall(r'"([^"]+)"', listed):
        headers = {**headers, name: headers["tilewave/statevec/cuda/jit_std.cuh"]}
    program, strings = ctypes.c_void_p(), ctypes.c_char_p * len(headers)
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), b'#include "tilewave/statevec/cuda/jit_kernel.cuh"\n', b"program.cu", len(headers),
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


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    text = (root / "src/tilewave/statevec/CMakeLists.txt").read_text()
    files = ["tilewave/" + name for name in re.search(r"set\(jit_files ([^)]*)\)", text)[1].split()]
    problems, headers = 0, {}
    for name in files:
        path = next((root / top / name for top in ("include", "src") if (root / top / name).exists()), None)
        if path is None:
            print(f"jit_files names {name}, which does not exist")
            problems += 1
            continue
        headers[name] = path.read_text()
        for included in re.findall(r'^\s*#\s*include\s*"(tilewave/[^"]+)"', headers[name], re.M):
            if included not in files:
                print(f"{path.relative_to(root)} includes {included}: add it to jit_files")
                problems += 1
    said = compile_problems(root, headers) if not problems else None
    if said:
        print(said)
        problems += 1
    print(f"embedded: {len(files)} files, {'not compiled: no NVRTC' if said is None else 'compiled'}, {problems} problems")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
