"""Declarations, as they are written in the public headers. Used by names.py."""

import re

import tree  # the repository's files


def place_of(node):
    """The header, relative to src/ekiden, and the line where something is declared."""
    at = node.find("location")
    return at.get("file").split("include/ekiden/")[-1], int(at.get("line"))


def simple(node):
    return (node.findtext("name") or node.findtext("compoundname").split("::")[-1]).strip()


def kind_of(node):
    kind = node.get("kind")
    return "class" if kind == "struct" else kind


def begin_of(lines, at):
    """The first line of the declaration whose name is in line `at`; lines count from 0."""
    if at and lines[at - 1].strip() == "}" and "requires requires" in "".join(lines[max(at - 4, 0) : at - 1]):
        at = next(i for i in range(at, 0, -1) if "requires requires" in lines[i])
    while at and re.match(r"\s*(template\b.*|requires\b.*|\[\[.*\]\]|[^#]*[^;}{:\s,]\s*)$", lines[at - 1]) and lines[at - 1].strip():
        at -= 1
    return at


def skip_block(code, place):
    """The place behind the braces that begin there."""
    depth = 0
    while True:
        depth += {"{": 1, "}": -1}.get(code[place], 0)
        place += 1
        if depth == 0:
            return place


def end_of(code, place, is_function):
    """Where a declaration ends whose name is at `place`: before its body, its initializers or its semicolon."""
    depth, has_parameters, begin = 0, False, place
    while place < len(code):
        c = code[place]
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
            has_parameters = depth == 0
        elif depth == 0 and c == ";":
            return place
        elif depth == 0 and c == "{":
            if not re.search(r"(\brequires\s*(\([^()]*\))?|=)\s*$", code[begin:place]):
                return place
            place = skip_block(code, place)
            continue
        elif depth == 0 and c == ":" and "::" not in code[place - 1 : place + 2] and (has_parameters or not is_function):
            return place
        place += 1
    return place


# How private names in declarations are shown. Every other one is an error.
SHOWN = [
    (re.compile(r"\n?[ ]*requires (?:detail::\w+<(?:[^<>]|<[^<>]*>)*>|requires \{ typename detail::[^}]*\})"), ""),
    (re.compile(r"\bdetail::(?:awaited_\w+|has_operation<\w+>) (?=\w)"), "class "),
    (re.compile(r"\bcoroutine<detail::scope_result<F>>"), "coroutine<R>"),
    (re.compile(r"\b(?:typename )?detail::\w+(?:<(?:[^<>]|<[^<>]*>)*>)?(?:::type)?"), "/* unspecified */"),
    (re.compile(r"\bsys::cell<T>|\bstate_lock::max_payload(?: \+ 1)?|\bto_asio_executor<\w+, Executor>"), "/* unspecified */"),
    (re.compile(r"\btypename shared_state<R>::view\b"), "const R&"),
    (re.compile(r"\bsys::clock\b"), "std::chrono::steady_clock"),
    (re.compile(r"\[\[gnu::\w+\]\] |\binline (?!constexpr)"), ""),
]


def shown(declaration):
    for pattern, instead in SHOWN:
        declaration = pattern.sub(instead, declaration)
    return declaration


class Header:
    """The text of a public header, from which declarations are taken."""

    def __init__(self, root, name):
        self.text = tree.text(root, f"src/ekiden/{name}").replace("::inline EKIDEN_ABI", "")
        self.code = tree.code(self.text)
        self.lines, self.code_lines = self.text.split("\n"), self.code.split("\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)

    def declaration(self, node, kind):
        """The declaration as it is written, moved to the left."""
        line = place_of(node)[1] - 1
        name = node.findtext("name") or re.sub(r"<.*", "", node.findtext("compoundname")).split("::")[-1]
        at = self.starts[line]
        found = re.compile(re.escape(name) + (r"\s*(?=\()" if kind in ("function", "friend") else r"\b")).search(self.code, at)
        if not found:
            raise SystemExit(f"{place_of(node)}: no declaration of '{name}'")
        if kind in ("typedef", "variable", "concept"):
            end = self.code.index(";", found.end())
        else:
            end = end_of(self.code, found.end(), kind in ("function", "friend"))
        begin = self.starts[begin_of(self.code_lines, line)]
        text = re.sub(r"\s*//[^\n]*", "", self.text[begin:end]).rstrip()
        indent = min(len(l) - len(l.lstrip()) for l in text.split("\n") if l.strip())
        return shown(re.sub(r"\bfriend ", "", "\n".join(l[indent:] for l in text.split("\n"))))

    def follows(self, before, after):
        """Whether no empty line and no comment stand between two declarations."""
        first, last = place_of(before)[1], begin_of(self.code_lines, place_of(after)[1] - 1)
        between = self.lines[first:last]
        return all(l.strip() and not l.lstrip().startswith("///") for l in between)
