#!/usr/bin/env python3
"""entropy and map from file to file: formats, sizes, missing values, every malformed input.

With TILEWAVE_LARGE=1 also an image of more than 2^31 pixels (2 GB of disk and its cache, two minutes and more)."""
import math
import os
import resource
import struct
from pathlib import Path

from raster_files import (INPUT, RESOURCES, USAGE, at, c, close, declared_nodata, fails, floats, noise, npy, plain, png,
                          with_nodata, works, write)

# formats: the same image in every one gives the same entropy, in every one
W, H = 23, 19
codes = noise(W * H, 16)
want = plain(codes, W, H, 5, 5, 16)
sources = {
    "npy": npy("a.npy", (H, W), "|u1", codes),
    "pgm": write("a.pgm", b"P5\n%d %d\n255\n" % (W, H) + codes),
    "png": png("a.png", W, H, 1, codes),
    "u16": npy("a16.npy", (H, W), "<u2", struct.pack(f"<{W * H}H", *codes)),
    "f32": npy("af.npy", (H, W), "<f4", struct.pack(f"<{W * H}f", *codes)),
    **{code: npy(f"a{k}.npy", (H, W), code, struct.pack(f"{order}{W * H}{letter}", *codes))
       for k, (code, order, letter) in enumerate((("<i8", "<", "q"), (">i8", ">", "q"), ("<u8", "<", "Q"), ("|i1", "<", "b"),
                                                  (">u2", ">", "H"), (">i4", ">", "i"), (">f4", ">", "f"), (">f8", ">", "d")))},
}
for name, path in sources.items():
    works("entropy", path, "-o", at("out.raw"), "--quiet")
    close(floats(at("out.raw")), want, f"from {name}")
raw = write("a.raw", codes)
works("entropy", raw, "--size", f"{W}x{H}", "-o", at("out.tif"), "--quiet")
works("map", at("out.tif"), "-o", at("back.raw"), "--expr", "v", "--quiet")
close(floats(at("back.raw")), want, "through TIFF")
works("entropy", raw, "--size", f"{W}x{H}", "-o", at("out.npy"), "--quiet", "--dtype", "f16")
works("map", at("out.npy"), "-o", at("back.raw"), "--expr", "v", "--quiet")
close(floats(at("back.raw")), want, "in 16-bit floats", 2e-3)
works("entropy", raw, "--size", f"{W}x{H}", "-o", at("out.png"), "--quiet", "--dtype", "u8", "--view", at("view.png"))
works("map", at("out.png"), "-o", at("back.raw"), "--expr", f"v / 254 * {math.log(16)}", "--quiet")
close(floats(at("back.raw")), want, "in bytes", 0.5 / 254 * math.log(16) + 1e-5)
view = Path(at("view.png")).read_bytes()
width, height, depth, colour = struct.unpack(">IIBB", view[16:26])
c.check(view[:8] == b"\x89PNG\r\n\x1a\n" and colour == 2 and width >= W and height >= H and (width, height) != (W, H),
        f"a colour picture with its scale: {width} x {height}, colour {colour}")

# every algorithm by its name gives the same file
works("entropy", raw, "--size", f"{W}x{H}", "-o", at("first.raw"), "--window", "7x5", "--quiet")
for algorithm in ("naive", "plane", "sliding", "column"):
    works("entropy", raw, "--size", f"{W}x{H}", "-o", at("out.raw"), "--window", "7x5", "--algorithm", algorithm, "--quiet")
    c.check(Path(at("out.raw")).read_bytes() == Path(at("first.raw")).read_bytes(), algorithm)
for algorithm, words in (("nibble", "at most 31 cells"), ("plane", "at least 32 cells")):
    window = "7x5" if algorithm == "nibble" else "5x5"
    fails(USAGE, [algorithm, words], "entropy", raw, "--size", f"{W}x{H}", "-o", at("out.raw"), "--window", window,
          "--algorithm", algorithm)
done = works("entropy", raw, "--size", f"{W}x{H}", "-o", at("out.raw"), "--device", "auto", "--explain")
c.check("auto: cpu" in done.out, f"the choice is printed: {done.out!r}")

# the container of the study, printed digits included (its border rule counts one too many at the far edges)
sample = bytes([7, 6, 9, 3, 1, 15, 10, 12, 9, 13, 10, 11, 2, 11, 3, 6, 12, 2, 4, 8, 11, 8, 7, 13, 6])
write("data.bin", struct.pack("<ii", 5, 5) + sample + struct.pack("<ii", 1, 3) + bytes([1, 2, 3]))
works("entropy", at("data.bin"), "-o", at("results.csv"), "--border", "study2020", "--quiet")
lines = Path(at("results.csv")).read_text().splitlines()
c.check(len(lines) == 2 and lines[0].startswith("5,5,2.04319,2.13833,2.33837,") and lines[0].endswith("2.78779,2.68595,")
        and lines[1].startswith("1,3,"), f"the study's digits: {lines}")
works("entropy", at("data.bin"), "-o", at("results.csv"), "--quiet")
c.check(Path(at("results.csv")).read_text().splitlines()[0].endswith("2.04319,"), "the definition's corner")

# sizes
for w, h in ((1, 1), (1, 37), (37, 1), (2, 2), (13, 17), (101, 3)):
    data = noise(w * h, 16)
    path = write("size.raw", data)
    for window in ("5x5", "21x21", "3x41"):
        works("entropy", path, "--size", f"{w}x{h}", "-o", at("out.raw"), "--window", window, "--quiet")
        k, l = map(int, window.split("x"))
        close(floats(at("out.raw")), plain(data, w, h, k, l, 16), f"{w} x {h}, window {window}")
for w, h in ((10_000_000, 10), (10, 10_000_000)):  # sparse: zeros with one patch that is known
    path = at("long.raw")
    patch = noise(100, 16)
    with open(path, "wb") as f:
        f.truncate(w * h)
        far = (w if w > h else h) - 10
        for k in range(10):  # the last ten columns, or rows
            f.seek(k * w + far if w > h else (far + k) * w)
            f.write(patch[10 * k:10 * k + 10])
    works("entropy", path, "--size", f"{w}x{h}", "-o", at("long.out.raw"), "--dtype", "u8", "--quiet")
    got = []
    with open(at("long.out.raw"), "rb") as f:
        for k in range(10):
            f.seek(k * w + far if w > h else (far + k) * w)
            got += f.read(10)
    # the window looks two zeros back
    if w > h:
        around = b"".join(bytes(2) + patch[10 * k:10 * k + 10] for k in range(10))
        full = plain(around, 12, 10, 5, 5, 16)
        expect = [full[12 * y + x] for y in range(10) for x in range(2, 12)]
    else:
        expect = plain(bytes(20) + patch, 10, 12, 5, 5, 16)[20:]
    bytes_of = [int(254 * v / math.log(16) + 0.5) for v in expect]
    # two columns back the true neighbours of the patch's first cells are cut by our small copy
    same = [a == b or i % 10 < 2 or i < 20 for i, (a, b) in enumerate(zip(got, bytes_of))]
    c.check(all(same), f"{w} x {h}: {got} for {bytes_of}")
    os.remove(path)
    os.remove(at("long.out.raw"))
if os.environ.get("TILEWAVE_LARGE"):
    w, h = 1_000_003, 2150  # 2,150,006,450 pixels
    most = lambda: resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of every command so far
    before = most()
    path = at("huge.raw")
    last = noise(64, 16)
    with open(path, "wb") as f:
        f.truncate(w * h)
        f.seek(w * h - 64)
        f.write(last)
    done = works("entropy", path, "--size", f"{w}x{h}", "-o", at("huge.out.raw"), "--window", "5x1", "--dtype", "u8",
                 "--json", "--quiet", limit_s=900)
    c.check(done.code != 0 or done.json()["valid_pixels"] == w * h, "every pixel has a value")
    with open(at("huge.out.raw"), "rb") as f:
        c.check(f.seek(0, 2) == w * h, "the whole result is there")
        f.seek(w * h - 60)
        got = f.read(60)
    expect = [int(254 * v / math.log(16) + 0.5) for v in plain(last, 64, 1, 5, 1, 16)[4:]]
    c.check(list(got) == expect, f"beyond 2^31 pixels: {list(got)} for {expect}")
    os.remove(at("huge.out.raw"))
    done = works("map", path, "--size", f"{w}x{h}", "--type", "u8", "-o", at("huge.out.raw"), "--dtype", "u8", "--expr",
                 "v + idx % 7 + (ix % 2 ? 100 : 0)", "--quiet", limit_s=900)
    with open(at("huge.out.raw"), "rb") as f:
        c.check(f.seek(0, 2) == w * h, "the whole map is there")
        f.seek(w * h - 64)
        got = f.read(64)
    index = [w * h - 64 + i for i in range(64)]
    c.check(list(got) == [v + i % 7 + 100 * (i % w % 2) for v, i in zip(last, index)], f"map beyond 2^31 pixels: {list(got)}")
    used = most()
    c.check(used <= max(600_000, before), f"memory does not grow with the image: {used} KiB")
    os.remove(path)
    os.remove(at("huge.out.raw"))

# missing values
holes = struct.pack("<6f", 1, math.nan, 2, 2, -9, 1)
path = npy("holes.npy", (2, 3), "<f4", holes)
works("entropy", path, "-o", at("out.raw"), "--nodata", "-9", "--window", "3x3", "--quiet")
close(floats(at("out.raw")), plain([1, 16, 2, 2, 16, 1], 3, 2, 3, 3, 16), "NaN and nodata are missing")
works("entropy", path, "-o", at("out.raw"), "--nodata", "-9", "--window", "3x3", "--min-valid", "0.4", "--quiet")
close(floats(at("out.raw"))[:1], [math.nan], "too few valid cells")
for code, size in ("<f4", "f"), ("<f2", "e"):  # a value that the samples only hold rounded, as every tool writes it
    for value in "-9999.9", "0.1", *(["-3.4028235e38"] if size == "f" else []):
        path = npy("rounded.npy", (2, 3), code, struct.pack("<6" + size, 1, float(value), 2, 2, float(value), 1))
        for flags in (), ("--range", "0:16"):
            works("entropy", path, "-o", at("out.raw"), f"--nodata={value}", "--window", "3x3", "--quiet", *flags)
            close(floats(at("out.raw")), plain([1, 16, 2, 2, 16, 1], 3, 2, 3, 3, 16), f"{value} in {code} is missing")
path = npy("tenths.npy", (1, 3), "<f4", struct.pack("<3f", 0.1, 0.2, 0.1))
works("entropy", path, "-o", at("out.raw"), "--classes", write("tenths.csv", b"0.1,0\n0.2,1\n"), "--window", "3x1", "--quiet")
close(floats(at("out.raw")), plain([0, 1, 0], 3, 1, 3, 1, 16), "classes of rounded values")
path = npy("wide.npy", (1, 2), "<f8", struct.pack("<2d", -1e308, 1e308))
fails(USAGE, ["too wide"], "entropy", path, "-o", at("no.npy"), "--range", "auto")
path = npy("none.npy", (2, 2), "<f4", struct.pack("<4f", *[math.nan] * 4))
done = works("entropy", path, "-o", at("out.raw"), "--json")
close(floats(at("out.raw")), [math.nan] * 4, "nothing valid")
c.check(done.json()["valid_pixels"] == 0, "no valid pixel is counted")

# what entropy refuses
rgb = png("rgb.png", 4, 3, 3, bytes(range(36)))
out = at("no.npy")
fails(INPUT, ["3 channels", "--channel 0..2"], "entropy", rgb, "-o", out)
works("entropy", rgb, "-o", at("out.npy"), "--channel", "1", "--range", "0:35", "--quiet")
fails(USAGE, ["channel"], "entropy", rgb, "-o", out, "--channel", "3", "--range", "0:35")
fails(USAGE, ["channel"], "entropy", rgb, "-o", out, "--channel", "-2", "--range", "0:35")
fails(INPUT, ["rgb.png", "3"], "map", rgb, "-o", out, "--expr", "v")
for name, data in (("empty.npy", b""), ("empty.pgm", b""), ("empty.png", b""), ("empty.tif", b""), ("empty.bin", b"")):
    fails(INPUT, [name], "entropy", write(name, data), "-o", at("no.csv") if name.endswith("bin") else out)
fails(INPUT, ["empty.raw"], "entropy", write("empty.raw", b""), "--size", "3x3", "-o", out)
whole = Path(sources["npy"]).read_bytes()
fails(INPUT, ["cut.npy"], "entropy", write("cut.npy", whole[:-5]), "-o", out)
fails(INPUT, ["cut.npy"], "entropy", write("cut.npy", whole[:20]), "-o", out)
fails(INPUT, ["cut.pgm"], "entropy", write("cut.pgm", Path(sources["pgm"]).read_bytes()[:-1]), "-o", out)
fails(INPUT, ["cut.png"], "entropy", write("cut.png", Path(sources["png"]).read_bytes()[:60]), "-o", out)
fails(INPUT, ["cut.tif"], "entropy", write("cut.tif", Path(at("out.tif")).read_bytes()[:100]), "-o", out)
fails(INPUT, ["cut.raw"], "entropy", write("cut.raw", codes[:-1]), "--size", f"{W}x{H}", "-o", out)
fails(INPUT, ["cut.bin", "truncated"], "entropy", write("cut.bin", struct.pack("<ii", 5, 5) + sample[:7]), "-o", at("no.csv"))
fails(INPUT, ["bad.bin"], "entropy", write("bad.bin", struct.pack("<ii", -5, 5) + sample), "-o", at("no.csv"))
fails(INPUT, ["long.raw", str(W * H + 1)], "entropy", write("long.raw", codes + b"0"), "--size", f"{W}x{H}", "-o", out)
for name in ("npy", "png", "tif", "pgm"):
    fails(INPUT, [f"wrong.{name}"], "entropy", write(f"wrong.{name}", b"GIF89a" + bytes(100)), "-o", out)
for code, order, letter, value in (("<i8", "<", "q", 2**31), (">i8", ">", "q", -2**31 - 1), ("<u8", "<", "Q", 2**32)):
    path = npy("great.npy", (1, 2), code, struct.pack(f"{order}2{letter}", 3, value))
    fails(INPUT, ["pixel (1, 0)", str(value), "no class of 16"], "entropy", path, "-o", out)
    works("entropy", path, "-o", at("out.raw"), "--range", "auto", "--window", "3x1", "--quiet")
    close(floats(at("out.raw")), [math.log(2)] * 2, "numbers beyond 32 bits in a range")
    if float(value) == struct.unpack("<f", struct.pack("<f", value))[0]:
        works("map", path, "-o", at("out.raw"), "--expr", "v", "--quiet")
        c.check(floats(at("out.raw")) == (3, float(value)), f"{value} is a float32")
    else:
        fails(INPUT, ["pixel (1, 0)", str(value), "float32", "--round"], "map", path, "-o", out, "--expr", "v")
fails(INPUT, ["long.npy", "'<f16'", "8 to 64 bits"], "map", npy("long.npy", (1, 1), "<f16", bytes(16)), "-o", out, "--expr", "v")
fails(INPUT, ["nowhere.npy"], "entropy", at("nowhere.npy"), "-o", out)
fails(USAGE, ["a.xyz"], "entropy", write("a.xyz", b"1"), "-o", out)
fails(INPUT, ["16"], "entropy", npy("large.npy", (1, 2), "|u1", bytes([16, 3])), "-o", out)
for flags, words in ((("--device", "tpu"), "cpu"), (("--device", "cuda:x"), "cuda:"), (("--radius", "-1"), "radius"),
                     (("--window", "5"), "WIDTHxHEIGHT"), (("--window", "0x3"), "--window"), (("--levels", "1"), "levels"),
                     (("--levels", "70000"), "levels"), (("--base", "1"), "base"), (("--base", "x"), "--base"),
                     (("--base", "0"), "above 1"), (("--base", "inf"), "above 1"), (("--base", "nan"), "above 1"),
                     (("--radius", "2", "--window", "3x3"), "--radius"), (("--shape", "a.png", "--window", "3x3"), "--window"),
                     (("--border", "wrap"), "--border"), (("--border", "constant:16"), "0..15"),
                     (("--min-valid", "2"), "0..1"), (("--range", "3"), "--range"), (("--algorithm", "best"), "--algorithm"),
                     (("--shape", "disk", "--window", "3x3"), "--window"), (("--dtype", "f64"), "dtype")):
    fails(USAGE, [words], "entropy", sources["npy"], "-o", out, *flags)
fails(USAGE, ["--size"], "entropy", raw, "-o", out)
fails(USAGE, ["--size"], "entropy", sources["npy"], "-o", out, "--size", "3x3")
fails(USAGE, ["--dtype u8"], "entropy", sources["npy"], "-o", at("no.png"))
fails(RESOURCES, ["nowhere"], "entropy", sources["npy"], "-o", at("nowhere/no.npy"))
fails(USAGE, ["--shape circle", "disk"], "entropy", sources["npy"], "-o", out, "--shape", "circle")
fails(USAGE, ["empty"], "entropy", "", "-o", out)
fails(INPUT, ["nowhere.csv", "No such file"], "entropy", sources["npy"], "-o", out, "--classes", at("nowhere.csv"))
for ending in ("npy", "png", "tif", "pgm"):
    os.mkdir(at(f"folder.{ending}"))
    fails(INPUT, [f"folder.{ending}", "directory"], "entropy", at(f"folder.{ending}"), "-o", out)
    fails(RESOURCES, [f"folder.{ending}", "directory"], "entropy", sources["npy"], "-o", at(f"folder.{ending}"),
          "--dtype", "u8")

# the picture: refused before anything is computed or written
shown = png("shown.png", W, H, 1, codes)
for name, code, words in (("shown.png", USAGE, "input"), ("no.png", USAGE, "output"), ("view.tif", USAGE, ".png"),
                          ("nowhere/view.png", RESOURCES, "folder")):
    fails(code, [name, words], "entropy", shown, "-o", at("no.png"), "--dtype", "u8", "--view", at(name))
c.check(Path(shown).read_bytes() == Path(sources["png"]).read_bytes() and not os.path.exists(at("no.png")),
        "a refused picture leaves the files as they were")
works("entropy", png("pixel.png", 1, 1, 1, b"\3"), "-o", at("pixel.raw"), "--view", at("view.png"), "--quiet")
c.check(floats(at("pixel.raw")) == (0.0,), "one pixel has one class")


def tiff(name, *kinds):
    """Images of 3 x 2 float32 values; kinds: the NewSubfileType of each."""
    entries, size = 10, 6 + 10 * 12
    data = b"II*\0" + struct.pack("<I", 8)
    for i, kind in enumerate(kinds):
        start = len(data)
        values = start + size
        following = values + 24 if i + 1 < len(kinds) else 0
        tags = [(254, 4, kind), (256, 3, 3), (257, 3, 2), (258, 3, 32), (259, 3, 1), (262, 3, 1), (273, 4, values),
                (278, 3, 2), (279, 4, 24), (339, 3, 3)]
        data += struct.pack("<H", entries) + b"".join(struct.pack("<HHII", tag, kind_of, 1, v) for tag, kind_of, v in tags)
        data += struct.pack("<I", following) + holes
    return write(name, data)


for kinds, pages in (((0,), 1), ((0, 1, 4), 1), ((0, 0, 2), 3)):  # overviews and masks are no pages
    path = tiff("pages.tif", *kinds)
    for command in (("entropy", "--nodata", "-9", "--window", "3x3"), ("map", "--expr", "v")):
        done = works(command[0], path, "-o", at("out.raw"), *command[1:])
        c.check(("pages" in done.out) == (pages > 1) and (pages == 1 or f"{pages} pages" in done.out), done.out)
    works("entropy", path, "-o", at("out.raw"), "--nodata", "-9", "--window", "3x3", "--quiet")
    close(floats(at("out.raw")), plain([1, 16, 2, 2, 16, 1], 3, 2, 3, 3, 16), "a float TIFF with NaN")

# map: what a TIFF declares as no data is none in the output either
path = with_nodata("nodata.tif", "255", [1, 255, 127, 0])
done = works("map", path, "-o", at("out.raw"), "--expr", "2 * v + 1")
c.check("1 pixels have no data: NaN" in done.out and "infinite" not in done.out, f"missing pixels are told: {done.out!r}")
got = floats(at("out.raw"))
c.check(math.isnan(got[1]) and got[:1] + got[2:] == (3.0, 255.0, 1.0), f"a missing pixel stays missing, 255 is a value: {got}")
done = works("map", path, "-o", at("out.tif"), "--expr", "1 / v", "--json", "--verify")
c.check((done.json()["missing"], done.json()["nonfinite"]) == (1, 1), f"counted apart: {done.out!r}")
c.check(declared_nodata(at("out.tif")) == "nan", f"the output declares its own: {declared_nodata(at('out.tif'))}")
done = works("map", path, "-o", at("out.tif"), "--expr", "3 * v", "--dtype", "u8")
c.check(declared_nodata(at("out.tif")) == "255" and Path(at("out.tif")).read_bytes()[8:12] == bytes([3, 255, 254, 0]),
        "in bytes 255 is missing, and values stop at 254")
c.check("1 pixels have no data: 255 in the output" in done.out, done.out)
works("entropy", path, "-o", at("out.tif"), "--levels", "128", "--window", "1x1")
c.check(declared_nodata(at("out.tif")) == "nan", "entropy declares NaN")

# map: the study's numbers, division by zero, errors with column and caret
values = []
state = 1
for _ in range(64):
    state = (state * 214013 + 2531011) % 2**32
    values.append(10 + (state >> 16 & 0x7FFF) % 256)
c.check(values[:5] == [51, 45, 200, 142, 235], "the study's inputs")
path = npy("study.npy", (2, 32), "<f4", struct.pack("<64f", *values))
study = "v + (ix % 2 ? sqrt(log(v)+1) : sqrt(cos(v)+1))"
for precision, most in (("precise", 5e-4), ("fast", 5e-3), ("lut", 5e-4)):
    done = works("map", path, "-o", at("out.raw"), "--expr", study, "--repeat", "10", "--precision", precision, "--verify")
    close(floats(at("out.raw"))[:4], [53.4068, 67.3596, 204.203, 166.555], f"the study's outputs, {precision}", 6e-4 + most)
    c.check("largest error against double precision" in done.out, done.out)
path = npy("zero.npy", (1, 3), "<f4", struct.pack("<3f", 0, -1, 2))
done = works("map", path, "-o", at("out.raw"), "--expr", "1 / v", "--json")
c.check(floats(at("out.raw")) == (math.inf, -1, 0.5) and done.json()["nonfinite"] == 1, "division by zero is infinite, and counted")
done = works("map", path, "-o", at("out.raw"), "--expr", "v / v")
c.check("infinite or no number" in done.out and math.isnan(floats(at("out.raw"))[0]), f"said so: {done.out!r}")
for expression, words, column in (("v + ", "", 5), ("sqrt(v", "", 7), ("frob(v)", "frob", 1), ("v $ 2", "", 3), ("", "", 1),
                                  ("v + x", "x", 5), ("sqrt(v, 2)", "", 7), ("v ? 1", "", 6), ("(v))", "", 4)):
    done = fails(USAGE, [words, f"column {column}", "^"], "map", path, "-o", out, "--expr", expression)
fails(INPUT, ["no whole number"], "map", npy("half.npy", (1, 2), "<f4", struct.pack("<2f", 1, 2.5)), "-o", out,
      "--expr", "v+1", "--precision", "lut")
path64 = npy("double.npy", (1, 2), "<f8", struct.pack("<2d", 1, 0.1))
fails(INPUT, ["pixel (1, 0)", "float32", "--round"], "map", path64, "-o", out, "--expr", "v")
works("map", path64, "-o", at("out.raw"), "--expr", "v", "--round", "--quiet")
c.check(floats(at("out.raw")) == struct.unpack("<2f", struct.pack("<2f", 1, 0.1)), "rounded where that is asked for")
fails(USAGE, ["cpu+cuda"], "map", path, "-o", out, "--expr", "v", "--device", "cpu+cuda:0")
fails(USAGE, ["--repeat"], "map", path, "-o", out, "--expr", "v", "--repeat", "-1")
c.finish()
