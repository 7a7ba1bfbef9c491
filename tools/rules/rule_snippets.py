"""Each C++ snippet of a document stands, word for word, in one of examples/*.cpp, which are compiled and run as tests."""

import re
import textwrap

import tree

SNIPPET = re.compile(r"^```cpp\n(.*?)^```", re.MULTILINE | re.DOTALL)


def lines(source):
    return "\n" + "\n".join(line.strip() for line in textwrap.dedent(source).strip().splitlines()) + "\n"


def check(root):
    examples = [lines(tree.text(root, path)) for path in tree.files(root, ".cpp", under="examples")]
    for path in tree.files(root, ".md"):
        source = tree.text(root, path)
        for match in SNIPPET.finditer(source):
            if not any(lines(match[1]) in example for example in examples):
                yield f"{path}:{tree.line_of(source, match.start())}: this snippet stands in no file of examples/"


GOOD = {
    "examples/a.cpp": "#include <vector>\n\nint main() {\n    int a = 1;\n    return a - 1;\n}\n",
    "a.md": "```cpp\nint a = 1;\nreturn a - 1;\n```\n",
}
BAD = [
    {"a.md": "```cpp\nint a = 2;\n```\n"},
    {"a.md": "```cpp\nnt a = 1;\n```\n"},
]
