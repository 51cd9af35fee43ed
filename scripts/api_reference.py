#!/usr/bin/env python3
"""api_reference.py ROOT [--check]: the reference of the public C++ headers, from their comments, as Markdown.

Doxygen reads include/tilewave (docs/Doxyfile); this prints what it found, a section a header, in the order of the source.
A public symbol without a comment is an error (exit 1). --check prints a line instead of the reference. Exit 77: Doxygen is
not installed. MkDocs calls on_page_markdown(), which puts the reference where docs/cpp_api.md says so.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

MARK = "<!-- reference -->"
MISSING = "Doxygen is not installed: apt-get install doxygen"


class Problem(Exception):
    """What the comments lack, a line each."""


def read_headers(root):
    """The compounds (classes and namespaces) that Doxygen finds."""
    with tempfile.TemporaryDirectory() as folder:
        settings = (root / "docs/Doxyfile").read_text() + f'OUTPUT_DIRECTORY = "{folder}"\n'
        done = subprocess.run(["doxygen", "-"], cwd=root, input=settings, capture_output=True, text=True)
        if done.returncode:
            raise Problem(done.stderr.replace(f"{root}/", "").strip())
        files = sorted(Path(folder, "xml").glob("*.xml"))
        return [c for f in files for c in ElementTree.parse(f).getroot().iter("compounddef")]


def plain(element):
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip() if element is not None else ""


def escape(text):
    return re.sub(r"([*_|\[\]])", r"\\\1", (text or "").replace("<", "&lt;"))


def inline(element):
    """A paragraph as Markdown: text and `code`."""
    parts = [escape(element.text)]
    for child in element:
        parts.append(f"`{plain(child)}`" if child.tag == "computeroutput" else inline(child))
        parts.append(escape(child.tail))
    return re.sub(r"\s+", " ", "".join(parts))


def comment(symbol, owner=None):
    """The paragraphs of a symbol's comment. Values of an enumeration (its owner) have no place of their own."""
    found = [inline(p).strip() for part in ("briefdescription", "detaileddescription") for p in symbol.findall(f"{part}/para")]
    if not any(found):
        place, name = (owner or symbol).find("location"), symbol.findtext("name") or symbol.findtext("compoundname")
        raise Problem(f"{place.get('file')}:{place.get('line')}: {name} has no comment")
    return found


def code(text):
    """C++ spaced as the source is, where Doxygen sets other blanks."""
    text = re.sub(r"< ", "<", re.sub(r" (?=>)", "", text))
    text = re.sub(r" (&&?)(?=[\w)])", lambda m: f"{m[1]} ", text).replace("& )", "&)").replace(" & ", "& ")
    return re.sub(r"(?<=\w)=(?=[\w{\"-])", " = ", text)


def arguments(text):
    """The arguments between the parentheses of a declaration: split at its commas outside of all others and of <>, [] and {}."""
    found, depth = [""], 0
    for c in text:
        depth += (c in "(<[{") - (c in ")>]}")
        if c == "," and depth == 0:
            found.append("")
        else:
            found[-1] += c
    return [argument.strip() for argument in found]


def declaration(member):
    """A function or a type as it is declared, without what its class says, an argument a line where it is long."""
    name = member.findtext("name")
    if member.get("kind") == "typedef":
        return f"using {name} = {plain(member.find('type'))};"
    words = ["static"] if member.get("static") == "yes" else []
    words += ["explicit"] if member.get("explicit") == "yes" else []
    words += [plain(member.find("type")), name + member.findtext("argsstring")]
    text = code(" ".join(w for w in words if w) + ";")
    if len(text) <= 90:
        return text
    begin, end = text.index("(") + 1, text.rindex(")")
    return text[:begin] + (",\n" + " " * begin).join(arguments(text[begin:end])) + text[end:]


def table(head, rows):
    return [f"| {head} | meaning |\n|---|---|\n" + "\n".join(f"| {name} | {' '.join(text)} |" for name, text in rows)]


def enumeration(symbol):
    values = [(f"`{v.findtext('name')} {plain(v.find('initializer'))}`".replace(" `", "`"), comment(v, symbol))
              for v in symbol.findall("enumvalue")]
    return comment(symbol) + table("value", values)


def compound(symbol):
    """A class or struct: what it is, its fields, its functions."""
    members = [m for s in symbol.findall("sectiondef") if s.get("kind").startswith("public") for m in s.findall("memberdef")]
    fields = [(f"`{code(plain(m.find('type')))} {m.findtext('name')} {plain(m.find('initializer'))}`".replace(" `", "`"), comment(m))
              for m in members if m.get("kind") == "variable"]
    found = comment(symbol) + (table("field", fields) if fields else [])
    for member in members:
        if member.get("kind") != "variable":
            found += [f"```cpp\n{declaration(member)}\n```", *comment(member)]
    return found


def reference(root):
    """The page's text and the number of symbols in it."""
    sections = {}  # a header: (line, heading, paragraphs)
    for found in read_headers(root):
        symbols = [found] if found.get("kind") in ("class", "struct") and found.get("prot") == "public" else []
        if found.get("kind") == "namespace":
            symbols = found.findall("sectiondef/memberdef")
        for symbol in symbols:
            kind, place = symbol.get("kind"), symbol.find("location")
            name = (symbol.findtext("name") or symbol.findtext("compoundname")).removeprefix("tilewave::")
            if kind == "enum":
                text = enumeration(symbol)
            elif kind in ("class", "struct"):
                text = compound(symbol)
            else:
                text = [f"```cpp\n{declaration(symbol)}\n```", *comment(symbol)]
            header = Path(root, place.get("file")).relative_to(root / "include/tilewave").as_posix()
            sections.setdefault(header, []).append((int(place.get("line")), name, text))
    if not sections:
        raise Problem("Doxygen found no public symbol in include/tilewave")
    page, num_symbols = [], 0
    for header in sorted(sections):
        lines = (root / "include/tilewave" / header).read_text().splitlines()
        page += [f"## tilewave/{header}", escape(lines[0].removeprefix("// "))]
        before = None
        for _, name, text in sorted(sections[header]):
            page += ([] if name == before else [f"### {name}"]) + text
            num_symbols, before = num_symbols + 1, name
    return "\n\n".join(page) + "\n", num_symbols


def on_page_markdown(markdown, page, config, **_):
    """MkDocs: puts the reference into the page that has a place for it."""
    if MARK not in markdown:
        return markdown
    if not shutil.which("doxygen"):
        raise SystemExit(f"{page.file.src_uri}: {MISSING}")
    return markdown.replace(MARK, reference(Path(config.config_file_path).resolve().parent)[0])


def main():
    if not shutil.which("doxygen"):
        print(f"SKIPPED: {MISSING}")
        return 77
    try:
        text, num_symbols = reference(Path(sys.argv[1]).resolve())
    except Problem as problem:
        print(problem)
        return 1
    print(f"api: {num_symbols} types and functions, all described" if "--check" in sys.argv else text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
