"""Compiles own_names.cpp together with deleted functions that accept any arguments.

Call: own_names.py SRC COMPILER OPTION...

The deleted functions are in the namespace of the program. There is one for each name that a header in SRC/ekiden
calls. An unqualified call in a template of the library, with an argument of a type of the program, finds the deleted
function, and does not compile. No name is left out, because the library finds only operators by the namespaces of
their arguments.
"""
import pathlib
import re
import subprocess
import sys

# Words that look like a call but cannot be the name of a function.
WORDS = set("""alignas alignof and asm assert auto bool case catch char class co_await co_return co_yield concept
const_cast constexpr consteval constinit decltype default defined delete do double dynamic_cast else enum explicit
float for friend if inline int long main namespace new noexcept not operator or reinterpret_cast requires return short
signed sizeof static_assert static_cast struct switch template this throw typeid typename union unsigned void volatile
while""".split())


def called_names(folder):
    names = set()
    for header in folder.rglob("*.hpp"):
        for line in header.read_text().splitlines():
            code = line.split("//")[0]
            names.update(re.findall(r"(?<![\w.>~])([a-z]\w*)\s*(?:<[^()]*>)?\s*\(", code))
    return sorted(n for n in names - WORDS if "__" not in n)


src = pathlib.Path(sys.argv[1])
names = called_names(src / "ekiden")
deleted = "".join(f"template <class... A> void {name}(A&&...) = delete;\n" for name in names)
program = pathlib.Path(__file__).with_suffix(".cpp")
text = f'namespace program {{\n{deleted}}}\n#line 1 "{program}"\n{program.read_text()}'
sys.exit(subprocess.run([*sys.argv[2:], f"-I{src}", "-x", "c++", "-"], input=text, text=True).returncode)
