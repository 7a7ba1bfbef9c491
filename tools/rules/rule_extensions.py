"""In the library, only src/ekiden/sys names extensions of compilers: attributes such as gnu::cold, builtin functions,
__attribute__, and tests for a platform. The adapters may test for a platform."""

import re

import tree

EXTENSIONS = re.compile(
    r"\[\[[^\]]*\b(?:gnu|clang|msvc)::\w+|\b__attribute__|\b__declspec|\b__extension__|\b__typeof__|\b__int128"
    r"|\b__builtin_(?!LINE\b)\w+|\basm\s*(?:volatile)?\s*\("
)
PLATFORMS = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b.*\b(?:_WIN32|_WIN64|__linux__|__APPLE__|_MSC_VER|__unix__)\b",
                       re.M)


def check(root):
    for path in tree.files(root, *tree.CPP, under="src/ekiden"):
        if path.parts[2] in ("sys", "check"):
            continue
        text = tree.code(tree.text(root, path))
        for match in EXTENSIONS.finditer(text):
            yield f"{path}:{tree.line_of(text, match.start())}: '{match[0]}' is an extension outside of src/ekiden/sys"
        if path.parts[2] == "adapter":
            continue
        for match in PLATFORMS.finditer(text):
            yield f"{path}:{tree.line_of(text, match.start())}: a test for a platform outside of src/ekiden/sys"


GOOD = {
    "src/ekiden/sys/config.hpp": "#if defined(_WIN32)\n#define EKIDEN_COLD [[gnu::cold]]\n#endif\n",
    "src/ekiden/adapter/asio/a.hpp": "#if defined(_WIN32)\n#endif\n",
    "src/ekiden/queue/a.hpp": "// __attribute__\n[[nodiscard]] EKIDEN_COLD int f(int line = __builtin_LINE());\n"
                              "#if defined(__GNUC__) && !defined(__clang__)\n#endif\n",
}
BAD = [
    {"src/ekiden/queue/a.hpp": "[[gnu::noinline]] void f();\n"},
    {"src/ekiden/queue/a.hpp": "[[nodiscard, gnu::cold]] int f();\n"},
    {"src/ekiden/queue/a.hpp": "__attribute__((cold)) int f();\n"},
    {"src/ekiden/pool/a.cpp": "void f() { __builtin_prefetch(nullptr); }\n"},
    {"src/ekiden/pool/a.cpp": "void f() { asm volatile(\"\"); }\n"},
    {"src/ekiden/pool/a.cpp": "#if defined(_WIN32)\n#endif\n"},
    {"src/ekiden/adapter/asio/a.hpp": "[[gnu::cold]] int f();\n"},
]
