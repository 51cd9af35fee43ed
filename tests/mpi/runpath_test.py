"""Built files name no folder to load libraries from that depends on where a program is started: an empty element of
RUNPATH, or a relative one, is the current directory. Called as `script.py READELF FILE...`."""
import re
import subprocess
import sys

failed = 0
for file in sys.argv[2:]:
    done = subprocess.run([sys.argv[1], "-d", file], capture_output=True, text=True, check=True)
    for path in re.findall(r"\((?:RUNPATH|RPATH)\)[^\[]*\[(.*)\]", done.stdout):
        for folder in path.split(":"):
            if not folder.startswith(("/", "$ORIGIN")):
                print(f"FAILED: {file}: element {folder!r} of {path!r}")
                failed += 1
sys.exit(1 if failed or len(sys.argv) < 3 else 0)
