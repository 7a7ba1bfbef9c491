"""The repository's files, and C++ text without its comments and strings. All rules use it."""

import re
from pathlib import Path

NOT_OURS = {".git", "build", "results", ".cache", "__pycache__", "report.html"}
CPP = (".hpp", ".cpp")
LISTS = "src/ekiden/CMakeLists.txt"
SCANNER = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<string>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*")'
    r"|(?P<char>(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+')",
    re.DOTALL,
)


def files(root, *suffixes, under=""):
    """Returns the paths, relative to `root`, of the files below `under` with one of the suffixes, or of all files."""
    found = []
    for path in sorted((root / under).rglob("*")):
        relative = path.relative_to(root)
        if not NOT_OURS.intersection(relative.parts) and path.is_file():
            if not suffixes or path.suffix in suffixes:
                found.append(relative)
    return found


def text(root, path):
    return (root / path).read_text(encoding="utf-8")


def blank(matched):
    return re.sub(r"[^\n]", " ", matched)


def code(source):
    """Returns C++ source with comments, strings and characters blanked. Positions and lines do not change. Includes are
    kept."""

    def keep(match):
        line_start = source.rfind("\n", 0, match.start()) + 1
        if match["string"] and source[line_start : match.start()].lstrip().startswith("#include"):
            return match[0]
        return blank(match[0])

    return SCANNER.sub(keep, source)


def comments(source):
    """Returns C++ source with everything blanked except the comments."""
    out, last = [], 0
    for match in SCANNER.finditer(source):
        out.append(blank(source[last : match.start()]))
        out.append(match[0] if match["comment"] else blank(match[0]))
        last = match.end()
    return "".join(out) + blank(source[last:])


def line_of(source, place):
    return source.count("\n", 0, place) + 1


def includes(source):
    """Yields pairs (line, name) of the #include lines. A name in quotes keeps its first quote."""
    for match in re.finditer(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>]+)>|("[^"]+)")', code(source), re.MULTILINE):
        yield line_of(source, match.start()), match[1] or match[2]


def public_headers(root):
    """Returns the headers that src/ekiden/CMakeLists.txt lists as public, relative to src/ekiden/."""
    listed = cmake_list(root, "EKIDEN_PUBLIC_HEADERS")
    if not listed:
        raise SystemExit(f"{LISTS}: no set(EKIDEN_PUBLIC_HEADERS ...)")
    return listed


def detail_headers(root):
    """Returns the private headers that are installed because public headers include them."""
    return cmake_list(root, "EKIDEN_DETAIL_HEADERS")


def adapter_headers(root):
    """Returns the headers that are installed, but that ekiden.hpp does not include."""
    return cmake_list(root, "EKIDEN_ADAPTER_HEADERS")


def cmake_list(root, name):
    """Returns the content of a list in LISTS, or nothing if there is no such list."""
    found = re.search(rf"set\({name}\b([^)]*)\)", text(root, LISTS))
    return re.sub(r"#.*", "", found[1]).split() if found else []


def component_headers(root, kind="HEADERS"):
    """Returns the headers of the parts with a library of their own, relative to src/ekiden/. Each such part lists its headers
    in src/ekiden/PART/CMakeLists.txt: see src/ekiden/component.cmake. `kind` is HEADERS or DETAIL_HEADERS."""
    found = []
    for path in files(root, ".txt", under="src/ekiden"):
        source = re.sub(r"#.*", "", text(root, path))
        for call in re.finditer(r"ekiden_component\((\w+)([^)]*)\)", source):
            if kind == "HEADERS":
                found.append(f"{call[1]}.hpp")
            listed = re.search(rf"(?<!\w){kind}\s((?:(?!\b[A-Z_]+\b).)*)", call[2], re.DOTALL)
            found += [f"{call[1]}/{name}" for name in (listed[1].split() if listed else [])]
    return found
