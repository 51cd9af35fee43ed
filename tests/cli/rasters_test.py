#!/usr/bin/env python3
"""entropy and map on what rasters hold beside values: classes of any number, declared and masked pixels, channels, types
that 32 bits do not hold; headers that lie; and runs that are interrupted."""
import errno
import math
import os
import resource
import signal
import struct
import subprocess
import time
import zlib
from pathlib import Path

from program import TILEWAVE
from raster_files import (INPUT, USAGE, at, c, close, declared_nodata, fails, floats, noise, npy, plain, png, works,
                          write)

out = at("no.npy")


def tiff(name, width, height, channels, letter, values, *, nodata=None, extra=None):
    """A TIFF of one strip, little-endian; extra: the kind of the last channel."""
    kind = {"B": 1, "b": 2, "h": 2, "i": 2, "I": 1, "q": 2, "f": 3}[letter]
    bits = 8 * struct.calcsize(letter)
    pixels = struct.pack(f"<{len(values)}{letter}", *values)
    text = b"" if nodata is None else str(nodata).encode() + b"\0"
    tags = [(256, 4, 1, width), (257, 4, 1, height), (258, 3, 1, bits), (259, 3, 1, 1), (262, 3, 1, 1), (273, 4, 1, 8),
            (277, 3, 1, channels), (278, 4, 1, height), (279, 4, 1, len(pixels)), (339, 3, 1, kind)]
    if channels > 1:  # one value stands for all channels only in files of one
        tags[2] = (258, 3, channels, 8 + len(pixels))
        tags[9] = (339, 3, channels, 8 + len(pixels) + 2 * channels)
        per_channel = struct.pack(f"<{channels}H", *[bits] * channels) + struct.pack(f"<{channels}H", *[kind] * channels)
    else:
        per_channel = b""
    if extra is not None:
        tags.insert(9, (338, 3, 1, extra))
    body = pixels + per_channel
    if text:
        tags.append((42113, 2, len(text), 8 + len(body)) if len(text) > 4 else
                    (42113, 2, len(text), int.from_bytes(text.ljust(4, b"\0"), "little")))
        body += text
    body += b"\0" * (len(body) % 2)
    tags.sort()
    if channels == 2:  # two 16-bit values fit the entry itself
        tags = [(t, k, n, bits * 65537 if t == 258 else kind * 65537 if t == 339 else v) for t, k, n, v in tags]
    directory = struct.pack("<H", len(tags)) + b"".join(struct.pack("<HHII", *t) for t in tags) + bytes(4)
    return write(name, b"II*\0" + struct.pack("<I", 8 + len(body)) + body + directory)


# classes of any number: WorldCover's, in the table's order or not
land = bytes([10, 20, 30, 40] * 4)
path = npy("wc.npy", (4, 4), "|u1", land)
want = plain([v // 10 - 1 for v in land], 4, 4, 3, 3, 16)
for text in (b"10,10\n20,20\n30,30\n40,40\n", b"value,class\n40,1\n10,523\n30,65535\n20,0\n", b'"10","1"\r\n"20",2\r\n30,3\r\n40,4\r\n'):
    table = write("wc.csv", text)
    works("entropy", path, "-o", at("out.raw"), "--classes", table, "--radius", "1", "--quiet")
    close(floats(at("out.raw")), want, f"classes of {text!r}")
table = write("wc.csv", b"10,10\n20,20\n30,30\n40,40\n50,200\n")
works("entropy", path, "-o", at("out.raw"), "--classes", table, "--radius", "1", "--base", "K", "--quiet")
close(floats(at("out.raw")), [v / math.log(5) for v in want], "K is the number of classes")
works("entropy", path, "-o", at("out.raw"), "--classes", table, "--radius", "1", "--levels", "201", "--base", "K", "--quiet")
close(floats(at("out.raw")), [v / math.log(201) for v in want], "or what --levels says")
fails(USAGE, ["--levels 200", "lists the class 200", "201"], "entropy", path, "-o", out, "--classes", table, "--levels", "200")
works("entropy", path, "-o", at("out.raw"), "--classes", table, "--radius", "1", "--border", "constant:40", "--quiet")
framed = [3] * 6 + sum(([3, 0, 1, 2, 3, 3] for _ in range(4)), []) + [3] * 6
full = plain(framed, 6, 6, 3, 3, 16)
close(floats(at("out.raw")), [full[6 * y + x] for y in range(1, 5) for x in range(1, 5)], "a class beyond the border")
fails(USAGE, ["constant:4", "no such class"], "entropy", path, "-o", out, "--classes", table, "--border", "constant:4")
for text, words in ((b"0-4,1\n", ["line 1", "'0-4,1'"]), (b"10,1\n20,x\n", ["line 2", "'x'"]), (b"10,1\n", ["holds 20"]),
                    (b"nan,1\n", ["NaN"]), (b"10,1\n10,2\n", ["twice"])):
    fails(INPUT, words, "entropy", path, "-o", out, "--classes", write("bad.csv", text))
works("entropy", path, "-o", at("out.raw"), "--classes", write("some.csv", b"10,1\n20,nodata\n30,\n40,7\n"), "--radius", "1",
      "--quiet")
close(floats(at("out.raw")), plain([{10: 0, 40: 1}.get(v, 16) for v in land], 4, 4, 3, 3, 16), "no data in a table")

# every value of 16 bits is a class, and one may be missing beside them
values = [65535 - v % 7 if k % 3 else 11 for k, v in enumerate(noise(120, 50))]
path = npy("deep.npy", (10, 12), "<u2", struct.pack("<120H", *values))
works("entropy", path, "-o", at("out.raw"), "--levels", "65536", "--quiet")
close(floats(at("out.raw")), plain(values, 12, 10, 5, 5, 65536), "65536 classes")
works("entropy", path, "-o", at("out.raw"), "--levels", "65536", "--nodata", "65535", "--quiet")
close(floats(at("out.raw")), plain([70000 if v == 65535 else v for v in values], 12, 10, 5, 5, 65536), "one of them missing")

# declared values are looked at before anything else is
for letter, nodata in (("i", 2147483647), ("I", 4294967295), ("i", -2147483648), ("q", -9223372036854775808),
                       ("f", -3.4028234663852886e+38), ("f", "nan"), ("b", -128), ("h", -32768)):
    missing = float(nodata) if letter == "f" else nodata
    values = [missing if k % 5 == 2 else k for k in range(60)]
    path = tiff("declared.tif", 12, 5, 1, letter, values, nodata=nodata)
    for precision in ("precise", "fast", "lut"):
        done = works("map", path, "-o", at("out.raw"), "--expr", "2 * v + 1", "--precision", precision, "--json", "--verify")
        expect = [math.nan if k % 5 == 2 else 2 * k + 1 for k in range(60)]
        close(floats(at("out.raw")), expect, f"{letter} {nodata} {precision}")
        report = done.json()
        c.check((report["missing"], report["nonfinite"], report["error"]["absolute"]) == (12, 0, 0), f"{nodata}: {done.out}")
    works("entropy", path, "-o", at("out.raw"), "--levels", "60", "--window", "3x3", "--quiet")
    close(floats(at("out.raw")), plain([99 if k % 5 == 2 else k for k in range(60)], 12, 5, 3, 3, 60), f"entropy, {nodata}")
    path = tiff("all.tif", 12, 5, 1, letter, [missing] * 60, nodata=nodata)
    done = works("map", path, "-o", at("out.raw"), "--expr", "log(v)", "--precision", "lut", "--json")
    c.check(done.json()["missing"] == 60 and all(map(math.isnan, floats(at("out.raw")))), "nothing but missing pixels")
    works("map", path, "-o", at("bytes.raw"), "--expr", "v", "--dtype", "u8", "--quiet")
    c.check(Path(at("bytes.raw")).read_bytes() == b"\xff" * 60, "255 for missing pixels")
path = npy("flag.npy", (1, 4), "<i4", struct.pack("<4i", 5, -9999, 300, -1))
works("map", path, "-o", at("out.raw"), "--expr", "sqrt(v)", "--nodata", "-9999", "--quiet")
close(floats(at("out.raw")), [math.sqrt(5), math.nan, math.sqrt(300), math.nan], "--nodata of map")
works("map", path, "-o", at("bytes.raw"), "--expr", "v", "--nodata", "-9999", "--dtype", "u8", "--quiet")
c.check(Path(at("bytes.raw")).read_bytes() == bytes([5, 255, 254, 0]), "values stop at 254 beside missing ones")
works("map", path, "-o", at("bytes.raw"), "--expr", "v", "--dtype", "u8", "--quiet")
c.check(Path(at("bytes.raw")).read_bytes() == bytes([5, 0, 255, 0]), "and at 255 elsewhere")
fails(USAGE, ["--nodata"], "map", path, "-o", out, "--expr", "v", "--nodata", "x")

# what alpha hides belongs to no window, and is NaN in a map
grey = [v for k, v in enumerate(noise(60, 9)) for v in (v, 0 if k % 7 == 3 else 200)]
hidden = [9 if k % 7 == 3 else v for k, v in enumerate(noise(60, 9))]
for path in (tiff("ga.tif", 12, 5, 2, "B", grey, extra=2), tiff("ga.tif", 12, 5, 2, "B", grey, extra=1)):
    for flags in ((), ("--channel", "0")):
        works("entropy", path, "-o", at("out.raw"), "--levels", "9", "--window", "3x3", "--quiet", *flags)
        close(floats(at("out.raw")), plain(hidden, 12, 5, 3, 3, 9), "alpha in entropy")
        works("map", path, "-o", at("out.raw"), "--expr", "v", "--quiet", *flags)
        close(floats(at("out.raw")), [math.nan if v == 9 else v for v in hidden], "alpha in a map")
    works("map", path, "-o", at("out.raw"), "--expr", "v", "--channel", "1", "--quiet")
    close(floats(at("out.raw")), grey[1::2], "alpha asked for is a channel")
    works("map", path, "-o", at("hidden.tif"), "--expr", "v", "--quiet", "--dtype", "u8")
    c.check(declared_nodata(at("hidden.tif")) == "255", "what alpha hid is declared")
path = tiff("rgb.tif", 12, 5, 3, "B", list(noise(180, 16)))
for channel in range(3):
    works("map", path, "-o", at("out.raw"), "--expr", "v", "--channel", str(channel), "--quiet")
    close(floats(at("out.raw")), list(noise(180, 16))[channel::3], f"channel {channel}")
fails(INPUT, ["rgb.tif", "3 channels", "--channel 0..2"], "map", path, "-o", out, "--expr", "v")
fails(USAGE, ["--channel 3", "0..2"], "map", path, "-o", out, "--expr", "v", "--channel", "3")
stack = npy("stack.npy", (5, 12, 3), "|u1", noise(180, 16))
works("entropy", stack, "-o", at("out.raw"), "--channel", "2", "--quiet")
close(floats(at("out.raw")), plain(noise(180, 16)[2::3], 12, 5, 5, 5, 16), "a channel of an array")

# summaries: nothing valid is null, values beyond a range are counted, pages are in JSON too
path = npy("none.npy", (2, 2), "<f4", struct.pack("<4f", *[math.nan] * 4))
done = works("entropy", path, "-o", at("out.raw"), "--json")
c.check([done.json()[key] for key in ("valid_pixels", "min", "max", "mean")] == [0, None, None, None], done.out)
done = works("entropy", path, "-o", at("out.raw"))
c.check("0 valid\n" in done.out and "nats" not in done.out, done.out)
path = npy("ramp.npy", (10, 10), "<f4", struct.pack("<100f", *[-3 + 6 * k / 99 for k in range(100)]))
done = works("entropy", path, "-o", at("out.raw"), "--range", "2:98")
c.check("83 pixels (83.0 %) lie outside of --range 2:98" in done.out, done.out)
done = works("entropy", path, "-o", at("out.raw"), "--range", "2:98", "--json")
c.check(done.json()["outside_range"] == 83 and done.json()["pages"] == 1, done.out)
done = works("entropy", path, "-o", at("out.raw"), "--range", "auto")
c.check("outside" not in done.out, done.out)

# bytes are the nearest whole numbers
path = npy("halves.npy", (1, 6), "<f4", struct.pack("<6f", 0.49999997, 0.5, 1.5, 254.49998, 300, -1))
works("map", path, "-o", at("bytes.raw"), "--expr", "v", "--dtype", "u8", "--quiet")
c.check(list(Path(at("bytes.raw")).read_bytes()) == [0, 1, 2, 254, 255, 0], "rounded to bytes")

# headers that lie, and files of other kinds
fails(INPUT, ["claim.bin", "record 1 of 2147483647 x 2147483647", "100 are left"], "entropy",
      write("claim.bin", struct.pack("<ii", 2**31 - 1, 2**31 - 1) + bytes(100)), "-o", at("no.csv"))
fails(USAGE, ["numbers.csv", ".bin"], "entropy", write("numbers.csv", b"0.1,0.2\n"), "-o", at("no.csv"))
empty = write("empty.raw", b"")
for size in ("4294967296x4294967296", "3037000500x3037000500", "1x9223372036854775807", "99999999999999999999x2"):
    for command in (("entropy",), ("map", "--expr", "v")):
        fails(USAGE, [f"--size {size}"], *command, empty, "--size", size, "-o", out)
fails(INPUT, ["empty.raw", "truncated"], "entropy", empty, "--size", "1000000x1000000", "-o", out)
header = struct.pack(">IIBBBBB", 0x7FFFFFFF, 0x7FFFFFFF, 8, 0, 0, 0, 1)
small = Path(png("small.png", 1, 1, 1, b"\3")).read_bytes()
lying = small[:16] + header + struct.pack(">I", zlib.crc32(b"IHDR" + header)) + small[33:]
start = time.perf_counter()
fails(INPUT, ["lying.png", "2147483647 x 2147483647", "cannot come from"], "entropy", write("lying.png", lying), "-o", out)
c.check(time.perf_counter() - start < 2, "nothing is taken for what a header claims")
fails(USAGE, ["a.jp2", "gdal_translate"], "entropy", write("a.jp2", b"x"), "-o", out)
for command in (("entropy",), ("map", "--expr", "v")):
    same = npy("same.npy", (4, 4), "|u1", bytes(16))
    fails(USAGE, ["--output", "same.npy", "replace the input"], *command, same, "-o", same)
    os.path.exists(at("link.npy")) or os.symlink(same, at("link.npy"))
    fails(USAGE, ["link.npy", "replace the input"], *command, same, "-o", at("link.npy"))
    c.check(Path(same).read_bytes()[-16:] == bytes(16), "the input is as it was")

# expressions: what other tools write, and characters of more than a byte
path = npy("v.npy", (1, 4), "<f4", struct.pack("<4f", -1.5, 0, 2, math.nan))
for expression, expect in (("where(isnan(v), -1, clip(v, -1, 1))", [-1, 0, 1, -1]), ("sign(v)", [-1, 0, 1, math.nan]),
                           ("v % 360", [358.5, 0, 2, math.nan]), ("v % inf", [math.inf, 0, 2, math.nan]),
                           ("trunc(v) + hypot(v, v) * 0", [-1, 0, 2, math.nan]), ("expm1(log1p(v * v))", [2.25, 0, 4, math.nan]),
                           ("pow(v, 3)", [-3.375, 0, 8, math.nan])):
    works("map", path, "-o", at("out.raw"), "--expr", expression, "--quiet")
    got = floats(at("out.raw"))
    c.check(all(a == b or abs(a - b) < 1e-6 or (math.isnan(a) and math.isnan(b)) for a, b in zip(got, expect)),
            f"{expression}: {got}")
for expression, words in (("0<v<5", ["column 4", "chain"]), ("2 * \u00b5", ["column 5", "'\u00b5'"]), ("fmod(v, 2)", ["a % b"])):
    fails(USAGE, words, "map", path, "-o", out, "--expr", expression)

# a disk that takes no more: the file's name and the system's reason, whatever library writes it
def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000))


pixels = at("pixels.raw")
Path(pixels).write_bytes(os.urandom(600 * 600))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing then fails instead of ending the process
for ending in ("tif", "png", "npy", "pgm", "raw"):
    target = at(f"limited.{ending}")
    done = subprocess.run([TILEWAVE, "map", pixels, "--size", "600x600", "--type", "u8", "--expr", "v", "--dtype", "u8",
                           "-o", target], preexec_fn=limit, restore_signals=False, capture_output=True, text=True)
    c.check(done.returncode == 3 and target in done.stderr and os.strerror(errno.EFBIG) in done.stderr
            and done.stderr.count("\n") == 1 and not list(Path(at(".")).glob("limited.*")),
            f".{ending} on a full disk: exit {done.returncode}, {done.stderr!r}")
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)

# interrupted: no part of a file is left, whatever its format
huge = at("huge.raw")
with open(huge, "wb") as f:
    f.truncate(6000 * 6000)
jobs = [(which, ["entropy", huge, "--size", "6000x6000", "--algorithm", "naive", "--radius", "7", "-o", at(f"part.{ending}")])
        for which, ending in ((signal.SIGINT, "npy"), (signal.SIGTERM, "tif"), (signal.SIGINT, "raw"))]
jobs.append((signal.SIGTERM, ["map", huge, "--size", "6000x6000", "--type", "u8", "--expr", "sin(v) + 1", "--repeat", "100000",
                              "-o", at("part.npy")]))
container = at("huge.bin")
with open(container, "wb") as f:
    f.write(struct.pack("<ii", 6000, 6000))
    f.truncate(8 + 6000 * 6000)
jobs.append((signal.SIGINT, ["entropy", container, "--algorithm", "naive", "--radius", "7", "-o", at("part.csv")]))


def unfinished():
    """Outputs and what they are called before they are whole."""
    return [p.name for pattern in ("part.*", ".tilewave-*") for p in Path(at(".")).glob(pattern)]


for which, words in jobs:
    run = subprocess.Popen([TILEWAVE, *words, "--threads", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    deadline = time.perf_counter() + 20
    while not unfinished() and run.poll() is None and time.perf_counter() < deadline:
        time.sleep(0.01)
    time.sleep(0.1)
    run.send_signal(which)
    try:
        err = run.communicate(timeout=30)[1].decode()
    except subprocess.TimeoutExpired:
        run.kill()
        err = run.communicate()[1].decode()
    left = unfinished()
    c.check(run.returncode == -which and not left and "interrupted" in err,
            f"{which} in {' '.join(words)}: exit {run.returncode}, {left} left, {err!r}")
c.finish()
