#!/usr/bin/env python3
"""packaging_test.py ROOT: recipes and scripts of packaging/ and .github/ agree with the tree.

  version    recipes and the module file are of the version of CMakeLists.txt
  packages   what they install to build with is what ./tw installs
  scripts    shell scripts and Python scripts are read without an error
  paths      files of packaging/ that documents, recipes and workflows name are there
  roots      a folder that has something else in it is not made a root file system
"""
import ast
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(sys.argv[1])
PACKAGING = ROOT / "packaging"
problems = []


def check(good, what):
    if not good:
        problems.append(what)


# version
version = re.search(r"project\(tilewave VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
for path, form in (("conda/recipe.yaml", r'^  version: "([^"]*)"$'), (f"easybuild/Tilewave-{version}-gompi-2024a.eb", r"^version = '([^']*)'$"),
                   (f"modulefiles/tilewave/{version}.lua", r'^whatis\("Version: (.*)"\)$')):
    file = PACKAGING / path
    check(file.exists(), f"packaging/{path}: there is no such file for version {version}")
    if file.exists():
        found = re.search(form, file.read_text(), re.M)
        check(found and found[1] == version, f"packaging/{path}: the version is {found and found[1]}, and {version} in CMakeLists.txt")

# packages of Debian: those for building are named by ./tw; a package of another use is named here
packages = set(re.findall(r"^([a-z0-9.+-]+)\|", (ROOT / "tw").read_text(), re.M))
OTHERS = {"ca-certificates", "debootstrap", "doxygen", "dpkg-dev", "g++-aarch64-linux-gnu", "git", "python3-pip", "qemu-user-static"}
RUN_TIME = re.compile(r"^(lib\w+\d+(t64)?|libpng16-16(t64)?|openmpi-bin)$")
installed = 0
for path in [*PACKAGING.rglob("*.Dockerfile"), *PACKAGING.rglob("*.def"), *(ROOT / ".github").rglob("*.yml")]:
    text = re.sub(r"\\\n", " ", path.read_text())
    for line in re.findall(r"apt-get install -y --no-install-recommends ([^\n&|]+)", text):
        for package in line.split():
            installed += 1
            check(package in packages or package in OTHERS or RUN_TIME.match(package),
                  f"{path.relative_to(ROOT)}: {package} is not among the packages of ./tw")
check(installed > 40, f"only {installed} packages were found in recipes")

# scripts
scripts = 0
for path in sorted(PACKAGING.rglob("*")):
    if not path.is_file():
        continue
    first = path.read_text().split("\n", 1)[0]
    if path.suffix in (".py", ".eb") or "python" in first and first.startswith("#!"):
        scripts += 1
        try:
            ast.parse(path.read_text())
        except SyntaxError as problem:
            check(False, f"{path.relative_to(ROOT)}: {problem}")
    elif first.startswith("#!"):
        scripts += 1
        done = subprocess.run([first[2:].split()[-1].split("/")[-1], "-n", path], capture_output=True, text=True)
        check(done.returncode == 0, f"{path.relative_to(ROOT)}: {done.stderr}")
check(scripts >= 7, f"only {scripts} scripts were found")

# paths
named = 0
for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *PACKAGING.rglob("*"), *(ROOT / ".github").rglob("*.yml")]:
    if not path.is_file():
        continue
    for name in re.findall(r"(?<![\w/])packaging/[\w./-]*\w", path.read_text()):
        named += 1
        check((ROOT / name).exists(), f"{path.relative_to(ROOT)}: there is no {name}")
check(named > 20, f"only {named} paths were found")

# a folder that is named by mistake stays as it is
with tempfile.TemporaryDirectory() as folder:
    kept = Path(folder) / "kept"
    kept.write_text("of somebody else")
    path = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}  # where debootstrap is not installed, too
    kept.with_name("debootstrap").symlink_to("/bin/false")
    for words in (["wheel/try_bare", "--root", folder, "none.whl"], ["cross/root", folder, "bookworm", "python3"]):
        done = subprocess.run([PACKAGING / words[0], *words[1:]], capture_output=True, text=True, timeout=60, env=path)
        check(done.returncode and "not empty" in done.stderr and kept.exists(), f"{words[0]} in a folder of somebody else: {done.stderr}")

    # nor is one removed in which something is mounted, as a try that was killed leaves the machine's devices
    for name, mount in (("root", "dev"), ("a root", "dev"), ("mount", "")):
        root = Path(folder) / name
        (root / mount).mkdir(parents=True)
        (root / "made").write_text("bookworm other packages")
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
                               'mount -t tmpfs none "$3" && touch "$3/null" && echo bookworm other >"$1/made" || exit 77; '
                               '"$2" "$1" bookworm python3; [ -e "$3/null" ]',
                               "sh", root, PACKAGING / "cross/root", root / mount], capture_output=True, text=True, timeout=60, env=path)
        if done.returncode == 77 or "unshare" in done.stderr:
            print(f"not tried here: what is mounted in a root file system: {done.stderr.strip()}")
            break
        place = str((root / mount).resolve()).replace(" ", "\\040")
        check(done.returncode == 0 and f"umount {place}" in done.stderr, f"cross/root with a mount in {name}: {done.stderr}")

    # where no name space can be made that is said in one line
    Path(folder, "qemu-aarch64-static").symlink_to("/bin/true")
    done = subprocess.run(["unshare", "--user", "--map-root-user", "sh", "-c",
                           'echo 0 >/proc/sys/user/max_user_namespaces || exit 77; exec "$1" "$2" true', "sh", PACKAGING / "cross/in_qemu", root],
                          capture_output=True, text=True, timeout=60, env=path)
    if done.returncode not in (0, 77) and "unshare" not in done.stderr:  # 0: the kernel knows of qemu
        check(done.stderr.startswith("error: new name spaces: ") and done.stderr.count("\n") == 1, f"cross/in_qemu: {done.stderr}")

for problem in problems:
    print(problem)
print(f"{installed} packages, {scripts} scripts, {named} paths: {len(problems)} problems")
sys.exit(1 if problems else 0)
