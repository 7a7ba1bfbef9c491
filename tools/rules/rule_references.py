"""What the documents and comments refer to exists: linked files and headings, named files, named symbols.

* [text](path#heading) in *.md: the file exists below the document's folder, and the heading in it.
* A path such as `pool/detail/sleep.md`, in a document between backticks, in a comment anywhere: the file exists, seen from
  the root, from src/, from src/ekiden/, from the folder of the file that names it, or from the other folder of its part.
* `name()` and `ekiden::name` between backticks: each name is a word of the tree's code.
* "Checked by: check/NAME": a file below check/ names that model.
"""

import re

import tree

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
TICKS = re.compile(r"`([^`\n]+)`")
ENDINGS = r"\.(?:hpp|cpp|md|py|sh|cmake|txt)"
PATH = re.compile(rf"(?<![\w./<>*-])(?:[\w.-]+/)*[\w-]+{ENDINGS}(?![\w/])")
FOLDERS = re.compile(r"^(?:ekiden|src|tests|tools|lab|check|examples|docs)/[\w./-]*$")
SYMBOL = re.compile(r"^(?:ekiden::(?P<name>[\w:]+)|(?P<call>[a-z_]\w*(?:(?:::|\.|->)\w+)*)\(\))(?:<.*>)?(?:\(\))?$")
MODEL = re.compile(r"Checked by: ((?:check/[\w/]+(?:, )?)+)")
# Written by the commands of this repository, so not in a clean tree.
MADE = {"report.html", "compile_commands.json"}
CODE = (*tree.CPP, ".py", ".sh", ".cmake", ".in", "")


class Tree:
    """The names that a reference may mean."""

    def __init__(self, root):
        self.root = root
        words = set()
        for path in tree.files(root, *CODE):
            if path.suffix == "" and path.name not in ("dev", "run"):
                continue
            source = tree.text(root, path)
            words.update(re.findall(r"\w+", tree.code(source) if path.suffix in tree.CPP else source))
        self.words = words
        self.models = "\n".join(str(p) + "\n" + tree.text(root, p) for p in tree.files(root, *CODE, under="check"))

    def has_file(self, name, place):
        folder = self.root / place.parent
        part = folder.parent if folder.name == "detail" else folder
        source = self.root / "src"
        bases = (self.root, source, source / "ekiden", part, part / "detail", self.root / "lab", self.root / "check")
        return name in MADE or any((base / name).exists() for base in bases)

    def has_symbol(self, name):
        return all(word in self.words for word in re.findall(r"\w+", name))


def links(known, path, source):
    for match in LINK.finditer(source):
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        line = tree.line_of(source, match.start())
        file = known.root / path.parent / target if target else known.root / path
        if not file.exists():
            yield f"{path}:{line}: the link '{match[1]}' leads nowhere"
        elif anchor and file.suffix == ".md" and anchor not in headings(file.read_text(encoding="utf-8")):
            yield f"{path}:{line}: '{target}' has no heading '#{anchor}'"


def headings(source):
    for title in re.findall(r"^#+ (.*)$", source, re.MULTILINE):
        yield re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-")


def names(known, path, source, in_document):
    """Files and symbols that a text names."""
    for match in TICKS.finditer(source):
        token, line = match[1].strip(), tree.line_of(source, match.start())
        symbol = SYMBOL.match(token)
        if symbol and not token.startswith("std::") and not known.has_symbol(symbol["name"] or symbol["call"]):
            yield f"{path}:{line}: `{token}`: no such name in the code"
        if FOLDERS.match(token) and not known.has_file(token, path):
            yield f"{path}:{line}: `{token}`: no such file or folder"
    places = TICKS.finditer(source) if in_document else [re.match(r"(?s).*", source)]
    for place in places:
        for match in PATH.finditer(place[0]):
            if not known.has_file(match[0], path):
                yield f"{path}:{tree.line_of(source, place.start() + match.start())}: no such file: {match[0]}"
    for match in MODEL.finditer(source):
        for model in re.findall(r"check/(?:\w+/)*(\w+)", match[1]):
            if not re.search(rf"\b{model}\b", known.models):
                yield f"{path}:{tree.line_of(source, match.start())}: there is no model '{model}'"


def check(root):
    known = Tree(root)
    for path in tree.files(root, ".md"):
        source = re.sub(r"^```.*?^```", lambda m: tree.blank(m[0]), tree.text(root, path), flags=re.MULTILINE | re.DOTALL)
        yield from links(known, path, source)
        yield from names(known, path, source, in_document=True)
    for path in tree.files(root, *tree.CPP):
        yield from names(known, path, tree.comments(tree.text(root, path)), in_document=False)


GOOD = {
    "src/ekiden/pool/a.hpp": "/// See pool/b.md, `run()` and `ekiden::pool::run`. `std::move()` is not ours.\n"
    "// Checked by: check/deque, check/ring.\nnamespace ekiden::pool { void run(); }\n",
    "src/ekiden/pool/b.md": "# The run\n[text](a.hpp) [here](#the-run) [there](https://example.org/a.md) `src/ekiden/pool/` `a.hpp`\n",
    "src/ekiden/pool/detail/c.hpp": "// See a.hpp, `d.md` and ekiden/pool/a.hpp.\n",
    "src/ekiden/pool/detail/d.md": "`a.hpp` has it, `c.hpp` too\n",
    "check/models/deque.cpp": "// nothing\n",
    "check/models/all.cpp": 'add("ring");\n',
}
BAD = [
    {"c.md": "[text](src/ekiden/pool/gone.hpp)\n"},
    {"c.md": "[text](src/ekiden/pool/b.md#the-walk)\n"},
    {"c.md": "`ekiden::pool::walk` walks\n"},
    {"c.md": "call `walk()`\n"},
    {"c.md": "`c.hpp` has it\n"},
    {"c.md": "see `src/ekiden/loop/`\n"},
    {"c.md": "see `pool/gone.hpp`\n"},
    {"src/ekiden/pool/c.hpp": "// as pool/gone.hpp says\n"},
    {"src/ekiden/pool/c.hpp": "// `walk()` is called\n"},
    {"src/ekiden/pool/c.hpp": "// [S1] Checked by: check/deque, check/gone.\n"},
    {"src/ekiden/pool/c.hpp": "// [S1] Checked by: check/models/gone.\n"},
]
