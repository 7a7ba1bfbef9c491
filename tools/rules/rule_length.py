"""No file is longer than 600 lines, no function longer than 70."""

import ast
import re

import tree

FILE_LIMIT = 600
FUNCTION_LIMIT = 70
SOURCES = (*tree.CPP, ".py", ".sh", ".cmake", ".md", ".txt", "")
TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>")
ACCESS = re.compile(r"^\s*(public|protected|private)\s*:")
SCOPE = re.compile(r"\s*(inline\s+|static\s+|const\w*\s+)*(namespace|class|struct|union|enum|extern)\b")
FUNCTION = re.compile(r"\)\s*(const|noexcept|override|final|requires\b.*|->.*|:.*|\s)*$", re.DOTALL)


def opens_scope(head):
    """Returns whether the brace after `head` opens a scope in which functions are declared."""
    head = ACCESS.sub("", TEMPLATE.sub("", head))
    return bool(SCOPE.match(head)) and not FUNCTION.search(head)


def cpp_functions(source):
    """Returns pairs (first line, last line) of the braces of function bodies."""
    text = tree.code(source)
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.)*", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.MULTILINE | re.DOTALL)
    depth_in_function, opened, head_start = 0, 0, 0
    for match in re.finditer(r"[{};]", text):
        place, sign = match.start(), match[0]
        if depth_in_function:
            depth_in_function += {"{": 1, "}": -1, ";": 0}[sign]
            if not depth_in_function:
                yield opened, tree.line_of(text, place)
                head_start = place + 1
            continue
        head = text[head_start:place]
        head_start = place + 1
        if sign == "{" and not opens_scope(head):
            depth_in_function = 1
            opened = tree.line_of(text, place)


def python_functions(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def check(root):
    for path in tree.files(root, *SOURCES):
        if path.name == "LICENSE":
            continue
        source = tree.text(root, path)
        lines = source.count("\n")
        if lines > FILE_LIMIT:
            yield f"{path}:1: {lines} lines; at most {FILE_LIMIT} are allowed"
        find = cpp_functions if path.suffix in tree.CPP else python_functions if path.suffix == ".py" else None
        for first, last in find(source) if find else ():
            if last - first + 1 > FUNCTION_LIMIT:
                yield f"{path}:{first}: a function of {last - first + 1} lines; at most {FUNCTION_LIMIT} are allowed"


def _body(lines):
    return "    work();\n" * lines


_MANY = "    int f() { return 1; }\n" * 80
GOOD = {
    "c.hpp": "template <class T>\nclass alignas(cache_line) a : public b<T> {\n" + _MANY + "};\n",
    "d.hpp": "enum class a {\n" + "    b,\n" * 80 + "};\n" + "namespace a::inline v0 {\n" + _MANY + "}\n",
    "a.cpp": "namespace a {\nclass b {\n" + "    int f() { return 1; }\n" * 80 + "};\n" + "int g() {\n" + _body(60) + "}\n}\n",
    "e.hpp": "class a {\npublic:\n    class b {\n" + _MANY + "    };\n};\n",
    "b.md": "line\n" * 600,
}
BAD = [
    {"a.cpp": "namespace a {\nint g(struct b* c) const noexcept {\n" + _body(69) + "}\n}\n"},
    {"a.cpp": "class a {\n    a() : b_{1}, c_(2) {\n" + _body(69) + "    }\n};\n"},
    {"a.cpp": "template <class T, class U = a<b<T>>>\nauto f(T t) requires (sizeof(T) > 1) {\n" + _body(69) + "}\n"},
    {"a.cpp": "template <class T>\nf<T>::f(T t) : a_{t} {\n" + _body(69) + "}\n"},
    {"a.cpp": "class alignas(64) a final : b {\n    int f() {\n" + _body(69) + "    }\n};\n"},
    {"a.cpp": "class a {\npublic:\n    int f() {\n" + _body(69) + "    }\n};\n"},
    {"a.cpp": "auto f = [](int x) {\n" + _body(69) + "};\n"},
    {"a.py": "def f():\n" + "    work()\n" * 70},
    {"a.hpp": "// line\n" * 601},
]
