"""The module exports the public names, and no other: src/ekiden/ekiden.cppm has a using-declaration for each name that a public
header declares in the namespace ekiden, or in a namespace in it, and for the public names in private headers. The reference
(tools/reference/names.py) says which these are, and tools/site/conventional.txt says which names are for the library only."""

import re
import sys
from pathlib import Path

import tree

sys.path.append(str(Path(__file__).resolve().parents[1] / "reference"))
import names  # noqa: E402

MODULE = "src/ekiden/ekiden.cppm"
NAMESPACE = re.compile(r"namespace(?P<name> [\w: ]+)? *$")


def end_of(code, place, pair):
    """The place behind the bracket that closes the one there."""
    depth = 0
    while True:
        depth += {pair[0]: 1, pair[1]: -1}.get(code[place], 0) if code[place - 1 : place + 1] != "->" else 0
        place += 1
        if depth == 0:
            return place


def without_templates(declaration):
    """Without attributes and their names, template<...> and the requires-clause that follows it."""
    text = " ".join(re.sub(r"\[\[.*?\]\]|\balignas\([^)]*\)|\bEKIDEN_[A-Z_]+\b", "", declaration, flags=re.DOTALL).split())
    while text.startswith("template <"):
        text = text[end_of(text, text.index("<"), "<>"):].strip()
    more = text.startswith("requires")
    while more:
        text = re.sub(r"^(requires|&&|\|\|) *", "", text)
        if text.startswith("requires"):  # requires (...) { ... }
            text = text[end_of(text, text.index("{"), "{}"):].strip()
        elif text.startswith("("):
            text = text[end_of(text, 0, "()"):].strip()
        else:
            text = text[end_of(text, text.index("<"), "<>"):].strip()
        more = text.startswith(("&&", "||"))
    return text


def name_of(declaration, has_body):
    """The name that is declared, or nothing for a member, a specialisation or a forward declaration of a class."""
    text = without_templates(declaration)
    if found := re.match(r"(?:class|struct|enum(?: class)?) (\w+)\b(?! *<| *::)", text):
        return found[1] if has_body else None
    if found := re.match(r"(?:using|concept) (\w+) =", text):
        return found[1]
    if not text or re.match(r"(?:class|struct|enum|using|concept|static_assert|extern|friend)\b", text):
        return None
    if found := re.search(r"(?<!::)\boperator *(co_await|[^\s\w(]+)", text):
        return "operator" + (" co_await" if found[1] == "co_await" else found[1])
    text = re.sub(r"decltype\(auto\)", "auto", text)
    flat = re.sub(r"<(?:[^<>()]|<(?:[^<>]|<[^<>]*>)*>)*>", "", text)
    before_value = re.split(r"[={]", flat)[0]
    if found := re.search(r"([\w:~]+) *\(", before_value):
        return found[1] if re.fullmatch(r"(?!noexcept|alignas)\w+", found[1]) else None
    found = re.search(r" (\w+)(?:\[\])? *$", before_value)
    return found[1] if found else None


def is_value(head):
    """Whether the braces behind belong to a value or to a requires-expression, not to a body."""
    return re.search(r"(=|\brequires *(\([^()]*\))?)\s*$", head) or "(" not in head and not re.search(r"\b(class|struct|enum)\b", head)


def declared(source):
    """Pairs (namespace, name) of what a header declares in namespaces."""
    code = re.sub(r"^[ \t]*#(?:\\\n|.)*", "", tree.code(source), flags=re.MULTILINE)
    scopes, begin, place = [], 0, 0
    while place < len(code):
        c, head = code[place], code[begin:place]
        if c == "{" and (found := NAMESPACE.search(head.strip())):
            scopes.append((found["name"] or "").replace("::inline EKIDEN_ABI", "").strip())
            begin = place = place + 1
        elif c == "{":
            place = end_of(code, place, "{}")
            if not is_value(head):
                yield "::".join(scopes), name_of(head, has_body=True)
                begin = place
        elif c == "(":
            place = end_of(code, place, "()")
        else:
            if c == "}":
                scopes.pop()
            if c == ";":
                yield "::".join(scopes), name_of(head, has_body=False)
            place += 1
            begin = place if c in ";}" else begin


def public_names(root):
    table = names.conventions(root)
    found = set()
    for header in tree.public_headers(root):
        for scope, name in declared(tree.text(root, f"src/ekiden/{header}")):
            is_library = any(table.get(key, "").startswith(names.LIBRARY) for key in (name, f"class {name}"))
            if name and scope in names.NAMESPACES and not is_library:
                found.add(f"{scope}::{name}")
    for header, (_, elsewhere) in names.ELSEWHERE.items():
        if (root / "src/ekiden" / header).is_file():
            found.update(f"ekiden::{name}" for name in elsewhere)
    return found


def exported(source):
    return {" ".join(found.split()) for found in re.findall(r"^ *using (ekiden::[\w:]+(?: co_await|[=+|&-]+)?);", source, re.MULTILINE)}


def check(root):
    if not (root / MODULE).is_file():
        return
    source = tree.text(root, MODULE)
    meant, there = public_names(root), exported(source)
    for name in sorted(meant - there):
        yield f"{MODULE}:1: does not export the public name '{name}'"
    for name in sorted(there - meant):
        line = tree.line_of(source, source.index(f"using {name};"))
        yield f"{MODULE}:{line}: exports '{name}', which no public header declares for programs"


_MODULE = "export namespace ekiden {\nusing ekiden::a;\nusing ekiden::b;\nusing ekiden::c;\nusing ekiden::d;\nusing ekiden::operator co_await;\n}\n"
_HEADER = (
    "namespace ekiden::inline EKIDEN_ABI {\nclass forward;\n"
    "template <class T>\n    requires requires(T t) { t.f(); }\nclass [[nodiscard]] EKIDEN_MARK a : public base<T> {\n    int f() { return 0; }\n};\n"
    "template <class T>\nclass a<T>::inner {};\n"
    "enum class b { x, y };\n[[nodiscard]] inline std::vector<int> c(int = 3) noexcept { return {}; }\n"
    "auto a::member() const -> forward { return 0; }\n"
    "namespace detail {\nstruct hidden {};\n}\ninline constexpr b d{b::x};\nawaiter operator co_await(a&& x) noexcept;\nint core();\n}\n"
)
GOOD = {
    tree.LISTS: "set(EKIDEN_PUBLIC_HEADERS\n    ekiden.hpp\n    part/a.hpp\n)\n",
    "tools/site/conventional.txt": "core | For the library: a sample.\n",
    "src/ekiden/ekiden.hpp": "",
    "src/ekiden/part/a.hpp": _HEADER,
    MODULE: _MODULE,
}
BAD = [
    {MODULE: _MODULE.replace("using ekiden::c;\n", "")},
    {MODULE: _MODULE.replace("using ekiden::c;\n", "using ekiden::c;\nusing ekiden::core;\n")},
    {MODULE: _MODULE.replace("using ekiden::operator co_await;\n", "")},
    {"src/ekiden/part/a.hpp": _HEADER.replace("enum class b", "enum class e")},
]
