"""Tracked files name nothing that exists on one machine only, and leave no unfinished business."""

import re

import tree

# Each is written so that this file does not name it either.
WORDS = re.compile(
    r"(?<![\w.}])/(?:wor[k]|hom[e]|roo[t])/\w|\.\./share[d]\b|\bproto[t]ypes/|\bTOD[O]\b|\bFIXM[E]\b|\bXX[X]\b"
    r"|\bart[i]factory\b|deb[.]debian[.]org"
)
BINARY = {".png", ".svg", ".jpg"}


def check(root):
    for path in tree.files(root):
        if path.suffix in BINARY:
            continue
        source = tree.text(root, path)
        for match in WORDS.finditer(source):
            yield f"{path}:{tree.line_of(source, match.start())}: '{match[0]}' must not be named here"


GOOD = {"a.md": "the work/ of many, a prototype, `homework/a`, ../lab/shared\n"}
BAD = [
    {"a.md": "see /wor" + "k/main/ekiden\n"},
    {"a.md": "see ../share" + "d/design.md\n"},
    {"a.cpp": "// TOD" + "O: finish\n"},
    {"a.sh": "cd /hom" + "e/someone\n"},
]
