#!/usr/bin/env python3
"""site_test.py SOURCE BUILD: MkDocs builds the site without a warning, and every link of its pages leads somewhere.

MkDocs is looked for in BUILD/../docs (the environment that CONTRIBUTING.md makes) and on the path; without it, or without Doxygen, which
reads the C++ reference, the test is skipped (exit 77) and says how to get them.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], {""}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken_links(site):
    pages = {path.resolve(): Page(path.read_text()) for path in site.rglob("*.html") if path.name != "404.html"}
    for path, page in pages.items():
        for link in page.links:
            if re.match(r"[a-z]+:|//", link):
                continue
            name, anchor = urldefrag(unquote(link))
            target = (path.parent / name).resolve() if name else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                yield f"{path.relative_to(site)}: {link} leads nowhere"
            elif target in pages and anchor not in pages[target].anchors:
                yield f"{path.relative_to(site)}: {link}: no such anchor"


def unread_markdown(site):
    """Text that shows MkDocs took for text what was meant as a table, a list or a link."""
    for path in site.rglob("*.html"):
        text = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", path.read_text(), flags=re.S)
        for found in re.findall(r"\|---|<p>[-*] |\]\([\w./#-]+\)|^```", text, re.M):
            yield f"{path.relative_to(site)}: '{found}' is shown as it is written"


def main():
    source, build = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    mkdocs = next((str(p) for p in (build.parent / "docs/bin/mkdocs", build / "docs/bin/mkdocs") if p.exists()),
                  shutil.which("mkdocs"))
    if not mkdocs:
        print("SKIPPED: MkDocs is not installed, so the site was not built. Install it with\n"
              f"  python3 -m venv {build.parent}/docs && {build.parent}/docs/bin/pip install -r {source}/docs/requirements.txt")
        return 77
    if not shutil.which("doxygen"):
        print("SKIPPED: Doxygen is not installed, so the site was not built. Install it with apt-get install doxygen")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        site = Path(folder).resolve() / "site"
        done = subprocess.run([mkdocs, "build", "--strict", "--quiet", "--config-file", source / "mkdocs.yml", "--site-dir", site],
                              capture_output=True, text=True)
        if done.returncode:
            print(done.stdout + done.stderr)
            return 1
        problems = [*broken_links(site), *unread_markdown(site)]
        print("\n".join(problems + [f"site: {len(list(site.rglob('*.html')))} pages, {len(problems)} problem(s)"]))
        return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
