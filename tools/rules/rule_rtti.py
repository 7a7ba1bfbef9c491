"""The library works in a program that is compiled without run-time type information (-fno-rtti)."""

import re

import tree

NAMES = re.compile(r"\b(dynamic_cast|typeid|dynamic_pointer_cast)\b|\bstd::(type_index|type_info)\b")


def check(root):
    for path in tree.files(root, *tree.CPP, under="src/ekiden"):
        text = tree.code(tree.text(root, path))
        for match in NAMES.finditer(text):
            yield f"{path}:{tree.line_of(text, match.start())}: '{match[0]}' does not exist with -fno-rtti"


GOOD = {
    "src/ekiden/pool/a.cpp": "// what a dynamic_cast would do\nauto* p = role.as_worker();\nstatic_cast<int>(1);\n",
    "tests/a.cpp": "auto* p = dynamic_cast<int*>(q);\n",
}
BAD = [
    {"src/ekiden/pool/a.cpp": "auto* p = dynamic_cast<worker*>(&role);\n"},
    {"src/ekiden/pool/a.hpp": "bool same = typeid(a) == typeid(b);\n"},
    {"src/ekiden/pool/a.hpp": "std::type_index of;\n"},
]
