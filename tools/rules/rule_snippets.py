"""Each C++ snippet of a document is taken word for word from a source in examples/, which is compiled and run as a
test, or from a source in the document's own top folder."""

import re
import textwrap

import tree

SNIPPET = re.compile(r"^```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)


def lines(source):
    return "\n" + "\n".join(line.strip() for line in textwrap.dedent(source).strip().splitlines()) + "\n"


def check(root):
    for path in tree.files(root, ".md"):
        source = tree.text(root, path)
        snippets = list(SNIPPET.finditer(source))
        places = {"examples", path.parts[0]} if snippets and len(path.parts) > 1 else {"examples"}
        compiled = [lines(tree.text(root, file)) for place in places for file in tree.files(root, *tree.CPP, under=place)]
        for match in snippets:
            if not any(lines(match[1]) in text for text in compiled):
                yield f"{path}:{tree.line_of(source, match.start())}: this snippet stands in no source that is compiled"


GOOD = {
    "examples/a.cpp": "#include <vector>\n\nint main() {\n    int a = 1;\n    return a - 1;\n}\n",
    "a.md": "```cpp\nint a = 1;\nreturn a - 1;\n```\n",
    "check/a.md": "```cpp\nint b = 1;\n```\n",
    "check/models/b.cpp": "int b = 1;\n",
}
BAD = [
    {"a.md": "```cpp\nint a = 2;\n```\n"},
    {"a.md": "```cpp\nnt a = 1;\n```\n"},
    {"a.md": "```cpp\nint b = 1;\n```\n"},
]
