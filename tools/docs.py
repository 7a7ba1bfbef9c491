"""Lays out what the site is made of: docs.py FOLDER, which is emptied.

FOLDER/pages    the repository's documents, at their places; what one of them links to: a source as a page of code, the
                results of a run of the lab as its report
FOLDER/include  the public headers, and those adapters and private headers whose "Used by:" line names programs (a base of
                public classes, say), without the inline namespace, for the reference
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools/rules"))
import tree  # noqa: E402  the repository's files

LINK = re.compile(r"(\[[^\]\n]*\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LANGUAGE = {".cpp": "cpp", ".hpp": "cpp", ".sh": "sh", ".py": "python", ".cmake": "cmake"}
RESULTS = ".json.gz"  # of a run of the lab
LEFT_OUT = ("lab/experiments/", "tests/")


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


USED_BY = re.compile(r"Used by:([^.]*(?:\.[a-z][^.]*)*)", re.DOTALL)


def is_for_programs(header):
    found = USED_BY.search(tree.text(ROOT, header).replace("\n/// ", " "))
    return bool(found and re.search(r"\b(programs?|programs'|users?|everybody)\b", found[1]))


PRIVATE = re.compile(
    r"^(?:namespace (?:ekiden::)?(?:\w+::)*(?:detail|asio|sys)\b|struct (?:alignas\([\w:]*\) )?(?:fork_request|standalone_asio|boost_asio|bounded_states|watermark_states)\b|template <rw_policy Policy>\nstruct rw_rules\b"
    r"|template <[^{;]*>\n(?:struct|class) (?:\w+::)*(?:async_result|associated_executor|associated_allocator|coroutine_traits)<)[^{;]*\{",
    re.MULTILINE,
)  # and specialisations, and what only bases are made with


SPECIAL = re.compile(r"^template <[^>]*>\ninline constexpr bool \w+<.*;\n", re.MULTILINE)


def without_private(source):
    """Without the namespaces that are none of a program's: detail, sys, and those of other libraries."""
    source = SPECIAL.sub("", source.replace("::inline EKIDEN_ABI", ""))
    while found := PRIVATE.search(source):
        code, depth, place = tree.code(source), 1, found.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(code[place], 0)
            place += 1
        source = source[:found.start()] + source[place:].removeprefix(";")
    return source


WARNING = re.compile(r"/include/(\S+?):(\d+): warning: (.*)")
COMPOUND = re.compile(r"Compound (?:[\w:]*?::|.*>::)?(\w+)(?:<.*>)? is not documented")
MEMBER = re.compile(r"Member (operator (?:co_await|bool)|operator ?(?:\(\)|[^\s(\w]+)|~?\w+).* of \w+ (?:[\w:]*::)?(\w+)(?:<.*>)? is not documented")
NO_MATTER = re.compile(r"Internal inconsistency|was not declared or defined|\) of class \w+<")  # of what is left out; of instances
DOXYGEN = """
INPUT={0}/include
OUTPUT_DIRECTORY={0}/doxygen
WARN_LOGFILE={0}/doxygen.log
FILE_PATTERNS=*.hpp
RECURSIVE=YES
QUIET=YES
GENERATE_HTML=NO
GENERATE_LATEX=NO
GENERATE_XML=YES
JAVADOC_AUTOBRIEF=YES
BUILTIN_STL_SUPPORT=YES
"""


def warnings(folder):
    """(header, line, text) of what doxygen has to say."""
    subprocess.run(["doxygen", "-"], input=DOXYGEN.format(folder), text=True, check=True)
    log = (folder / "doxygen.log").read_text(encoding="utf-8")
    found = {(m[1], int(m[2]), m[3]) for m in WARNING.finditer(log) if not NO_MATTER.search(m[3])}
    return sorted(found, reverse=True)


def begin_of(lines, at):
    """The first line of the declaration whose name is in line `at`."""
    while at and re.match(r"\s*(template\b.*|requires\b.*|\[\[.*\]\]|.*[^;}{:/\s,]\s*)$", lines[at - 1]) and lines[at - 1].strip() \
            and not lines[at - 1].lstrip().startswith(("//", "#")):
        at -= 1
    return at


def is_of_group(lines, begin, name):
    """Whether a comment above, up to an empty line, is that of an overload, or of the pair of _for or _until."""
    word = re.sub(r"_until$", "_for", name)
    for at in range(begin - 1, 0, -1):
        if not lines[at].strip():
            return False
        if lines[at].lstrip().startswith("///") and not lines[at + 1].lstrip().startswith("///"):
            first = re.sub(r"_until\b", "_for", " ".join(lines[at + 1 : at + 4]))
            return bool(re.search(rf"\b{re.escape(word)}\(|\b{re.escape(word.removesuffix('_for'))}\(const wait_limit", first))
    return False


def document_conventions(folder):
    """Says at each name without a comment what convention says, and returns what is left."""
    table = dict(line.split(" | ") for line in tree.text(ROOT, "tools/site/conventional.txt").splitlines() if line[:1] not in "#")
    left = []
    for header, number, text in warnings(folder):
        file = folder / "include" / header
        found, compound = MEMBER.match(text), COMPOUND.match(text)
        lines = file.read_text(encoding="utf-8").split("\n")
        name = found and found[1]
        begin = begin_of(lines, number - 1)
        if compound:
            says = table.get("class " + compound[1])
        elif found and is_of_group(lines, begin, name):
            says = "As the one above."
        else:
            says = found and (table.get(found[2] + "::*") or table.get("<>" if name == found[2] else "~" if name[0] == "~" else name))
        if says:
            lines.insert(begin, re.match(r"\s*", lines[begin])[0] + "/// " + says)
            file.write_text("\n".join(lines), encoding="utf-8")
        else:
            left.append(f"{header}: {text}")
    return left


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
    shutil.copytree(ROOT / "tools/site", folder / "pages/site")
    public = tree.public_headers(ROOT)
    for header in public + tree.detail_headers(ROOT) + tree.adapter_headers(ROOT):
        path = Path("src/ekiden") / header
        if header in public or is_for_programs(path):
            target = folder / "include/ekiden" / header
            target.parent.mkdir(parents=True, exist_ok=True)
            source = without_private(tree.text(ROOT, path))
            source = re.sub(r"(?<=\d)'(?=\d)", "", source)  # behind 10'000 doxygen 1.9 overlooks a comment
            target.write_text(source, encoding="utf-8")
    left = document_conventions(folder)
    for line in sorted(left):
        print(line)
    return 1 if left else 0


sys.exit(main(Path(sys.argv[1])))
