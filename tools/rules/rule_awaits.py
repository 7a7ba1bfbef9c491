"""co_await does not appear in the condition of an if, a while, a switch or a for. An awaited expression contains no
lambda that captures by value, and no designated initializer. g++ 12 loses a resume in the first case, and destroys
objects twice in the others. tests/coroutines/forms.cpp tests these forms with each compiler."""

import re

import tree

EXEMPT = {"tests/coroutines/forms.cpp"}
HEAD = re.compile(r"\b(if|while|switch|for)\s*(?:constexpr\s*)?\(")
AWAIT = re.compile(r"\bco_await\b")
OPENING, CLOSING = "([{", ")]}"
LAMBDA = re.compile(r"(?:^|[^\w\s)\]])\s*\[([^\[\]]*)\]\s*(?=[({<]|mutable\b|noexcept\b|->)")
NAMED_MEMBER = re.compile(r"\{\s*\.\s*\w+\s*=")


def closed(text, opened):
    """Returns the position of the bracket that closes the one at `opened`."""
    depth = 0
    for place in range(opened, len(text)):
        depth += (text[place] in OPENING) - (text[place] in CLOSING)
        if not depth:
            return place
    return len(text)


def without_bodies(text):
    """Returns the text with the content of braces blanked, because bodies of lambdas have their own awaits and
    statements. Designated initializers are kept."""
    out, place = [], 0
    while place < len(text):
        if text[place] == "{" and not NAMED_MEMBER.match(text, place):
            end = closed(text, place)
            out.append("{" + tree.blank(text[place + 1 : end]) + "}")
            place = end + 1
        else:
            out.append(text[place])
            place += 1
    return "".join(out)


def awaited(text, start):
    """Returns the text from a co_await to the end of its full expression, as far as brackets show it."""
    place = start
    while place < len(text) and text[place] != ";" and text[place] not in CLOSING:
        place = closed(text, place) + 1 if text[place] in OPENING else place + 1
    return without_bodies(text[start:place])


def by_value(captures):
    return any(c and not c.startswith("&") and c not in ("this",) for c in map(str.strip, captures.split(",")))


def check(root):
    for path in tree.files(root, *tree.CPP):
        if path.as_posix() in EXEMPT:
            continue
        text = tree.code(tree.text(root, path))
        if "co_await" not in text:
            continue
        for match in HEAD.finditer(text):
            condition = without_bodies(text[match.end() - 1 : closed(text, match.end() - 1)])
            if match[1] == "for":
                parts = condition.split(";")
                condition = parts[1] if len(parts) == 3 else ""
            if AWAIT.search(condition):
                yield f"{path}:{tree.line_of(text, match.start())}: co_await in the condition of '{match[1]}'; put the result into a variable first"
        for match in AWAIT.finditer(text):
            expression = awaited(text, match.end())
            line = tree.line_of(text, match.start())
            if any(by_value(found[1]) for found in LAMBDA.finditer(expression)):
                yield f"{path}:{line}: a lambda that captures by value in an awaited expression; name it first, and move it in"
            if NAMED_MEMBER.search(expression):
                yield f"{path}:{line}: members set in braces in an awaited expression; make the object in a statement of its own"


GOOD = {
    "src/ekiden/a.cpp": "void f() {\n const bool b = co_await x();\n if (b) co_await y([&n] { return n; });\n"
    " auto g = [n] { return n; };\n co_await y(std::move(g));\n int c = a[co_await z()];\n co_await v[i](1);\n"
    " for (int i = co_await n(); i < 3; ++i) {}\n if (h([&] { co_await x(); })) {}\n"
    " co_await all([&] { auto inner = [n] { return n; }; return inner(); });\n}\n",
    "tests/coroutines/forms.cpp": "void f() { if (co_await x()) {} }\n",
}
BAD = [
    {"src/ekiden/a.cpp": "void f() { if (co_await x()) return; }\n"},
    {"src/ekiden/a.cpp": "void f() { while (1 + (co_await x()) > 3) {} }\n"},
    {"src/ekiden/a.cpp": "void f() { switch (co_await x()) {} }\n"},
    {"src/ekiden/a.cpp": "void f() { for (; co_await x();) {} }\n"},
    {"src/ekiden/a.cpp": "void f() { co_await g([n] { return n; }); }\n"},
    {"src/ekiden/a.cpp": "void f() { co_await g(1, [&m, n = 3]() mutable { return n; }); }\n"},
    {"src/ekiden/a.cpp": "void f() { co_await g([=] { return n; }); }\n"},
    {"src/ekiden/a.cpp": "void f() { co_await g(options{.name = n}); }\n"},
    {"src/ekiden/a.cpp": "void f() { co_await g({.name = n}); }\n"},
]
