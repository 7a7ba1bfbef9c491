"""Writes the pages of the site: docs.py FOLDER. The folder is emptied first.

FOLDER/pages has the repository's documents, at their places, and the files to which they link: a source becomes a page of
code, and the results of a run of the lab become its report. FOLDER/pages/reference has the reference (tools/reference/pages.py).
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tools/rules"), str(ROOT / "tools/reference")]
import tree  # noqa: E402  the repository's files
import pages  # noqa: E402  the reference

LINK = re.compile(r"(\[[^\]\n]*\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LANGUAGE = {".cpp": "cpp", ".hpp": "cpp", ".sh": "sh", ".py": "python", ".cmake": "cmake"}
RESULTS = ".json.gz"  # of a run of the lab
LEFT_OUT = ("lab/experiments/", "tests/", "tools/")


def code_page(path):
    """A source as a page, or the list of what is in a folder."""
    if (ROOT / path).is_dir():
        files = sorted(p.name for p in (ROOT / path).iterdir() if p.suffix == ".cpp")
        first = {name: re.match(r"(?:///? ?.*\n)*", tree.text(ROOT, path / name))[0] for name in files}
        first = {name: " ".join(re.sub(r"^///? ?", "", text, flags=re.MULTILINE).split()) for name, text in first.items()}
        return f"# {path}\n\n" + "".join(f"* [{name}]({path.name}/{name}): {first[name]}\n" for name in files)
    language = LANGUAGE.get(path.suffix, "text")
    return f"# {path.name}\n\n`{path}`\n\n````{language}\n{tree.text(ROOT, path)}````\n"


def report_of(results, page):
    """The lab's report of a results file."""
    subprocess.run(["/usr/bin/python3", "-B", ROOT / "lab/report/report.py", ROOT / results, "-o", page], check=True)


def page_of(path):
    return path.with_name(path.name + ".md")


class Site:
    def __init__(self, pages):
        self.pages = pages
        self.made = set()

    def add(self, path):
        """Writes the page for a file of the repository, and those that it links to."""
        if path in self.made:
            return
        self.made.add(path)
        if path.suffix in (".png", ".svg"):
            self.write(path, None, copy=path)
        elif path.name.endswith(RESULTS):
            report_of(path, self.pages / str(path).replace(RESULTS, ".html"))
        elif path.suffix == ".md":
            self.write(path, self.linked(path, tree.text(ROOT, path)))
        else:
            self.write(page_of(path), self.linked(page_of(path), code_page(path)) if (ROOT / path).is_dir() else code_page(path))

    def write(self, place, text, copy=None):
        target = self.pages / place
        target.parent.mkdir(parents=True, exist_ok=True)
        if copy:
            shutil.copy(ROOT / copy, target)
        else:
            target.write_text(text, encoding="utf-8")

    def linked(self, path, text):
        """The text with links to sources led to their pages."""
        def lead(match):
            if re.match(r"[a-z]+:", match[2]):
                return match[0]
            target = (ROOT / path.parent / match[2]).resolve()
            if not target.exists() or not target.is_relative_to(ROOT):
                return match[0]  # a dead link, which is reported when the site is built
            target = target.relative_to(ROOT)
            self.add(target)
            if target.name.endswith(RESULTS):
                return match[1] + match[2].replace(RESULTS, ".html") + match[3]
            return match[0] if target.suffix in (".md", ".png", ".svg") else match[1] + match[2].rstrip("/") + ".md" + match[3]

        parts, last = [], 0
        for fence in FENCE.finditer(text):
            parts += [LINK.sub(lead, text[last:fence.start()]), fence[0]]
            last = fence.end()
        return "".join(parts) + LINK.sub(lead, text[last:])


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    site = Site(folder / "pages")
    for path in tree.files(ROOT, ".md"):
        if not str(path).startswith(LEFT_OUT):
            site.add(path)
    shutil.copytree(ROOT / "tools/site", folder / "pages/site", ignore=shutil.ignore_patterns("*.md"))
    left = pages.write(ROOT, folder, site.add)
    for line in sorted(left):
        print(line)
    return 1 if left else 0


sys.exit(main(Path(sys.argv[1]).resolve()))
