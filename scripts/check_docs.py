#!/usr/bin/env python3
"""check_docs.py [ROOT]: what the documents say of the tree is true, and their links lead somewhere.

  links       every relative link of a document leads to a file, and its #anchor to a heading there
  files       every source file that a document names in backquotes is there (pages of one day are not asked)
  variables   docs/environment.md names every TILEWAVE_* variable that the source reads, and no others
  modules     the tables of docs/tour.md name every folder of src/tilewave, tests and bench, and no others
  notebook    a page is named YYYY-MM-DD-topic.md, begins with its date, machine and commands, and is in the index
  version     the version is that of CMakeLists.txt wherever it stands
  glossary    no word is defined twice in one table, and the names "in the code" (before an arrow) are in the tree
  decisions   a page has a title, a status, and its parts in order; where one narrows or supersedes another both say so
"""
import re
import sys
from pathlib import Path

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.S | re.M)
CODE = re.compile(r"`[^`\n]*`")
SOURCE = re.compile(r"`(?:\./)?([\w/.-]+\.(?:cc|h|cu|cuh|c|py|sh|qasm))`")
VARIABLE = re.compile(r"\bTILEWAVE_[A-Z][A-Z0-9_]*\b")
SOURCES = {".h", ".cc", ".cu", ".cuh", ".c", ".py", ".txt", ".cmake", ".sh"}
NOTEBOOK = re.compile(r"\d{4}-\d\d-\d\d-[a-z0-9-]+\.md")
STATUS = re.compile(r"\*\*Status:\*\* (?:accepted\.|(?:accepted, narrowed|superseded) by \[(\d{4})\]\([\w.-]+\): )")


def documents(root):
    found = [root / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")]
    return [path for path in found if path.exists()] + sorted((root / "docs").rglob("*.md"))


def anchors(text):
    """Names of headings, as GitHub and MkDocs make them."""
    names = []
    for heading in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        names.append(re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", plain).strip()))
    return names


def check_links(root):
    for path in documents(root):
        for target in LINK.findall(CODE.sub("", FENCE.sub("", path.read_text()))):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.exists():
                yield f"{path.relative_to(root)}: the link {target} leads nowhere"
            elif anchor and anchor not in anchors(file.read_text()):
                yield f"{path.relative_to(root)}: {target}: {file.name} has no such heading"


def check_files(root):
    tops = ("include", "src", "tests", "bench", "scripts", "python", "examples", "ladders", "packaging")
    there = ["/" + str(path.relative_to(root)) for top in tops for path in (root / top).rglob("*.*")]
    for path in documents(root):
        if path.parent.name == "notebook":
            continue
        for name in SOURCE.findall(re.sub(r"→ `[^`]+`", "", path.read_text())):
            if not any(file.endswith("/" + name) for file in there):
                yield f"{path.relative_to(root)}: there is no file {name}"


def variables_read(root):
    """Variables of the environment in the source; macros of the same form are none."""
    found, macros = set(), {"TILEWAVE_ENUM_TYPE"}  # of QuEST.h
    for folder in ("src", "python", "tests", "cmake", "scripts"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in SOURCES or path.name in ("check_docs.py", "check_docs_test.py"):
                continue
            text = path.read_text(errors="replace")
            found |= set(VARIABLE.findall(text))
            macros |= set(re.findall(r"#\s*(?:define|ifdef|ifndef|undef)\s+(TILEWAVE_\w+)", text))
    return found - macros


def check_variables(root):
    page = root / "docs" / "environment.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in VARIABLE.findall(row.split("|")[1])}
    for name in sorted(variables_read(root) - named):
        yield f"docs/environment.md: {name} is in the source and not in the table"
    for name in sorted(named - variables_read(root)):
        yield f"docs/environment.md: nothing reads {name}"


def folders(root, top):
    """Folders below `top` that hold files of their own, as paths from the root."""
    return {str(path.relative_to(root)) for path in (root / top).rglob("*")
            if path.is_dir() and not {"__pycache__", "data"} & set(path.relative_to(root).parts)
            and any(f.is_file() for f in path.iterdir())}


def check_modules(root):
    page = root / "docs" / "tour.md"
    named = set()
    for line in page.read_text().splitlines():
        if found := re.match(r"\| `([\w/.-]+)/` \|", line):
            named.add(found[1])
    there = folders(root, "src/tilewave") | folders(root, "tests") | folders(root, "bench")
    for name in sorted(there - named):
        yield f"docs/tour.md: the folder {name}/ is not in its tables"
    for name in sorted(named):
        if not (root / name).is_dir():
            yield f"docs/tour.md: there is no folder {name}/"


def check_notebook(root):
    folder = root / "docs" / "notebook"
    index = (folder / "README.md").read_text()
    for path in sorted(folder.glob("*.md")):
        if path.name == "README.md":
            continue
        lines = [line for line in path.read_text().splitlines() if line]
        heads = [line.split(":")[0] for line in lines[1:4]]
        where = f"docs/notebook/{path.name}"
        if not NOTEBOOK.fullmatch(path.name):
            yield f"{where}: name it YYYY-MM-DD-topic.md"
        if not lines[0].startswith("# ") or heads != ["Date", "Machine", "Commands"]:
            yield f"{where}: a page begins with '# title', 'Date:', 'Machine:' and 'Commands:'"
        if f"({path.name})" not in index:
            yield f"{where}: not in the index, docs/notebook/README.md"


def check_version(root):
    here = re.search(r"project\(tilewave VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text())[1]
    for name, form in (("pyproject.toml", r'^version = "([^"]*)"'), ("CITATION.cff", r"^version: (.*)$")):
        found = re.search(form, (root / name).read_text(), re.M)
        if not found or found[1] != here:
            yield f"{name}: the version is {found and found[1]}, and {here} in CMakeLists.txt"


def check_glossary(root):
    names = {name for top in ("src", "cmake", "scripts") for path in (root / top).rglob("*") if path.suffix in SOURCES
             for name in re.findall(r"\w+", path.read_text(errors="replace"))}
    words = set()
    for line in (root / "docs" / "glossary.md").read_text().splitlines():
        if line.startswith("#"):
            words = set()
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if not line.startswith("| ") or len(cells) != 4 or cells[0] == "word":
            continue
        if cells[0] in words:
            yield f"docs/glossary.md: '{cells[0]}' is defined twice"
        words.add(cells[0])
        for name in re.findall(r"`([^`]+)`", re.sub(r"→ `[^`]+`", "", cells[3])):
            there = (any((base / name).exists() for base in (root, root / "src/tilewave", root / "src/tilewave/statevec"))
                     if "/" in name else name in names or (root / name).exists())
            if not there:
                yield f"docs/glossary.md: '{cells[0]}': {name} is not in the code"


def check_decisions(root):
    folder = root / "docs" / "decisions"
    index = (folder / "README.md").read_text()
    pages = {path.name[:4]: path for path in sorted(folder.glob("[0-9]*.md"))}
    for number, path in pages.items():
        text, where = path.read_text(), f"docs/decisions/{path.name}"
        title = re.match(rf"# {number}: (.+)\n", text)
        status = STATUS.search(text)
        if not title:
            yield f"{where}: begin with '# {number}: what was decided'"
        elif f"| [{number}]({path.name}) | {title[1]} | " not in index:
            yield f"{where}: the index has another title, or another line"
        if not status:
            yield (f"{where}: say '**Status:** accepted.', or 'accepted, narrowed by' or 'superseded by "
                   "[NNNN](NNNN-name.md): ' and how")
        elif status[1] and not re.search(rf"(Narrows|Supersedes) [^\n]*\[{number}\]", pages[status[1]].read_text()):
            yield f"{where}: {status[1]} does not say that it narrows or supersedes it"
        parts = [text.find(f"**{part}.**") for part in ("Context", "Choice", "Numbers", "Would change our mind")]
        if min(parts) < 0 or parts != sorted(parts):
            yield f"{where}: needs Context, Choice, Numbers and Would change our mind, in this order"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent).resolve()
    checks = (check_links, check_files, check_variables, check_modules, check_notebook, check_version, check_glossary,
              check_decisions)
    problems = [problem for check in checks for problem in check(root)]
    print("\n".join(problems + [f"documents: {len(documents(root))} pages, {len(problems)} problem(s)"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
