"""EKIDEN_VERSION in src/ekiden/sys/version.hpp is the version that CMakeLists.txt states, as one number."""

import re

import tree

HEADER = "src/ekiden/sys/version.hpp"
PROJECT = "CMakeLists.txt"
STATED = re.compile(r"project\(ekiden VERSION (\d+)\.(\d+)\.(\d+)")
MACRO = re.compile(r"^#define EKIDEN_VERSION (\d+)$", re.MULTILINE)


def check(root):
    stated = STATED.search(tree.text(root, PROJECT))
    if not stated:
        yield f"{PROJECT}:1: states no version of three numbers"
        return
    major, minor, patch = map(int, stated.groups())
    header = tree.text(root, HEADER)
    macro = MACRO.search(header)
    expected = major * 10000 + minor * 100 + patch
    if not macro:
        yield f"{HEADER}:1: does not define EKIDEN_VERSION"
    elif int(macro[1]) != expected:
        line = tree.line_of(header, macro.start())
        yield f"{HEADER}:{line}: EKIDEN_VERSION is {macro[1]}, but {PROJECT} states {expected}"


GOOD = {
    PROJECT: "project(ekiden VERSION 1.12.3 LANGUAGES CXX)\n",
    HEADER: "#pragma once\n#define EKIDEN_VERSION 11203\n",
}
BAD = [
    {HEADER: "#pragma once\n#define EKIDEN_VERSION 11202\n"},
    {HEADER: "#pragma once\n"},
    {PROJECT: "project(ekiden LANGUAGES CXX)\n"},
]
