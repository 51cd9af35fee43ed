"""Rasters for the tests of entropy and map: files of every format, and the definition of entropy."""
import math
import struct
import tempfile
import zlib
from collections import Counter
from pathlib import Path

from program import Checker, tilewave

USAGE, RESOURCES, INPUT = 2, 3, 4
c = Checker()
folder = tempfile.TemporaryDirectory()
at = lambda name: str(Path(folder.name) / name)


def write(name, data):
    Path(at(name)).write_bytes(data)
    return at(name)


def npy_bytes(shape, code, data):
    header = repr({"descr": code, "fortran_order": False, "shape": shape}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def npy(name, shape, code, data):
    return write(name, npy_bytes(shape, code, data))


def png(name, width, height, channels, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    colour = {1: 0, 3: 2}[channels]
    stride = width * channels
    raw = b"".join(b"\0" + rows[y * stride:(y + 1) * stride] for y in range(height))
    return write(name, b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0))
                 + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b""))


def floats(path, skip=0):
    data = Path(path).read_bytes()[skip:]
    return struct.unpack(f"<{len(data) // 4}f", data)


def plain(codes, width, height, w, h, levels, shift=0):
    """The definition; missing cells are those of class `levels` and more."""
    out = []
    for y in range(height):
        for x in range(width):
            seen = Counter(codes[j * width + i]
                           for j in range(max(0, y - h // 2), min(height, y + h - h // 2))
                           for i in range(max(0, x - w // 2), min(width, x + w - w // 2))
                           if codes[j * width + i] < levels)
            n = sum(seen.values())
            out.append(math.log(n) - sum(k * math.log(k) for k in seen.values()) / n if n else math.nan)
    return out


def close(got, want, what, most=5e-6):
    same = len(got) == len(want) and all(
        (math.isnan(a) and math.isnan(b)) or abs(a - b) < most for a, b in zip(got, want))
    c.check(same, f"{what}: {got[:5]} for {want[:5]}")


def works(*command, limit_s=120):
    done = tilewave(*command, limit_s=limit_s)
    c.check(done.code == 0 and done.err == "", f"{' '.join(command)}: exit {done.code}, {done.err!r}")
    return done


def fails(code, words, *command):
    done = tilewave(*command)
    what = f"{' '.join(command)}: exit {done.code}, {done.err!r}"
    c.check(done.code == code, f"exit {code} expected: {what}")
    c.check(done.err.startswith("error: ") and done.err.count("error:") == 1, f"one error: {what}")
    c.check(all(word in done.err for word in words), f"{words} expected: {what}")
    return done


def noise(n, levels):
    state, out = 1, bytearray()
    for _ in range(n):
        state = (state * 214013 + 2531011) % 2**32
        out.append((state >> 16) % levels)
    return bytes(out)


def with_nodata(name, declared, pixels):
    """A TIFF of bytes, one row, that declares its value of missing pixels (up to three digits)."""
    tags = [(256, 3, 1, len(pixels)), (257, 3, 1, 1), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 134),
            (278, 3, 1, 1), (279, 4, 1, len(pixels)), (339, 3, 1, 1),
            (42113, 2, 4, int.from_bytes(declared.encode().ljust(4, b"\0"), "little"))]
    data = b"II*\0" + struct.pack("<IH", 8, len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags)
    return write(name, data + bytes(4) + bytes(pixels))


def declared_nodata(path):
    data = Path(path).read_bytes()
    first = struct.unpack_from("<I", data, 4)[0]
    for k in range(struct.unpack_from("<H", data, first)[0]):
        tag, kind, count, value = struct.unpack_from("<HHII", data, first + 2 + 12 * k)
        if tag == 42113:
            return (value.to_bytes(4, "little") if count <= 4 else data[value:value + count])[:count].rstrip(b"\0").decode()
    return None
