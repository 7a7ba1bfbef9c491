"""No name of a test contains a semicolon. CMake would treat it as the end of the name, and the test driver as a
separator of two tests."""

import re

import tree

TEST = re.compile(r'\bTEST_CASE(?:_TEMPLATE)?\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')


def check(root):
    for path in tree.files(root, *tree.CPP, under="tests"):
        source = tree.text(root, path)
        for match in TEST.finditer(source):
            if ";" in match[1]:
                yield f"{path}:{tree.line_of(source, match.start())}: the test's name has a semicolon"


GOOD = {"tests/a.cpp": 'TEST_CASE("one, and two") { f(";"); }\n'}
BAD = [
    {"tests/a.cpp": 'TEST_CASE("one; two") {}\n'},
    {"tests/a.cpp": 'TEST_CASE_TEMPLATE("one "\n    "; two", T, int) {}\n'},
]
