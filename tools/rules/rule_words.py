"""Tracked files do not name a path that exists on one machine only, and do not leave a task unfinished. No sentence of
a page or a comment begins with "Who": write "a thread that waits"."""

import re

import tree

# Each is written so that this file does not name it either.
WORDS = re.compile(
    r"(?<![\w.}])/(?:wor[k]|hom[e]|roo[t])/\w|\.\./share[d]\b|\bproto[t]ypes/|\bTOD[O]\b|\bFIXM[E]\b|\bXX[X]\b"
    r"|\bart[i]factory\b|deb[.]debian[.]org"
)
BINARY = {".png", ".svg", ".jpg", ".xz", ".gz"}
SUBJECT = re.compile(r"(?<![\w\"'`])Who\s")


def check(root):
    for path in tree.files(root):
        if path.suffix in BINARY:
            continue
        source = tree.text(root, path)
        for match in WORDS.finditer(source):
            yield f"{path}:{tree.line_of(source, match.start())}: '{match[0]}' must not be named here"
        prose = source if path.suffix == ".md" else tree.comments(source) if path.suffix in tree.CPP else ""
        for match in SUBJECT.finditer(prose):
            yield f"{path}:{tree.line_of(prose, match.start())}: begin with what it is ('A thread that ...'), not with 'Who'"


GOOD = {
    "a.md": "the work/ of many, a prototype, `homework/a`, ../lab/shared\n",
    "b.hpp": '// A thread that waits, and who woke it.\nconst char* text = "Who waits";\n',
}
BAD = [
    {"a.md": "see /wor" + "k/main/ekiden\n"},
    {"a.md": "see ../share" + "d/design.md\n"},
    {"a.cpp": "// TOD" + "O: finish\n"},
    {"a.sh": "cd /hom" + "e/someone\n"},
    {"a.md": "It ends. Who waits\nis woken.\n"},
    {"b.hpp": "// It ends. Who\n// waits is woken.\n"},
]
