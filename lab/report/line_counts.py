"""Counts the lines of each lock: with condition variables, on our state_lock, and in the library.

Used by: page.py. It counts in the sources of this tree when the page is made, without blank lines and comments.
"""

import html
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONDITIONS = "lab/peers/condition_locks.hpp"
STATES = "lab/peers/ekiden_source_locks.hpp"

# Title; definitions with condition variables; on states, with their tables; headers that make the library's lock.
LOCKS = [
    ("read-write lock", (CONDITIONS, ["condition_rw"]), (STATES, ["source_rw"]),
     ["src/ekiden/sync/rw_mutex.hpp", "src/ekiden/sync/rw_policy.hpp"]),
    ("barrier", (CONDITIONS, ["condition_barrier"]), (STATES, ["source_barrier"]), ["src/ekiden/sync/barrier.hpp"]),
    ("elastic barrier", (CONDITIONS, ["condition_elastic_barrier"]), (STATES, ["source_elastic_barrier"]),
     ["src/ekiden/sync/elastic_barrier.hpp"]),
    ("bounded buffer", (CONDITIONS, ["condition_buffer"]),
     ("examples/states.cpp", ["fill", "fill_op", "fill_table", "text_buffer"]), ["src/ekiden/sync/bounded_buffer.hpp"]),
    ("buffer with watermarks", (CONDITIONS, ["condition_watermark_buffer"]),
     ("examples/states.cpp", ["mark", "mark_op", "mark_table", "marks", "marked_buffer"]),
     ["src/ekiden/sync/watermark_buffer.hpp"]),
]


def code(text):
    """Returns the lines of C++ that are neither blank nor comments."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    lines = (re.sub(r"//.*", "", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


def definition(text, name):
    """Returns the definition of a class, an enumeration or a constant, from its head to its closing brace."""
    head = re.search(rf"^(?:template <[^\n]*>\n)?(?:class|struct|enum class|constexpr [^\n]*) {name}\b[^;{{]*{{", text, re.M)
    if not head:
        raise ValueError(f"nothing defines {name}")
    depth = 1
    for end in range(head.end(), len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            return text[head.start():end + 1]
    raise ValueError(f"the definition of {name} does not end")


def lines_of(file, names=None):
    text = (ROOT / file).read_text(encoding="utf-8")
    return sum(len(code(definition(text, n))) for n in names) if names else len(code(text))


def section():
    """Returns the table as HTML."""
    rows = ""
    for title, conditions, states, ours in LOCKS:
        files = ", ".join(pathlib.Path(f).name for f in ours)
        rows += (f'<tr><th scope="row">{html.escape(title)}<span>{html.escape(files)}</span></th>'
                 f"<td>{lines_of(*conditions)}</td><td>{lines_of(*states)}</td>"
                 f"<td>{sum(lines_of(f) for f in ours)}</td></tr>")
    return (f'<section id="lines"><h2>How long the locks are</h2><p>Lines of code, without blank ones and comments: '
            f"written by hand with a mutex and condition variables; the same on state_lock, or on state_mutex with its "
            f"transition table (of the buffer with watermarks only what it adds to the other one, which it refines); "
            f"and as the library has it, with timed waits, stop requests, coroutines and checked "
            f'contracts. The two buffers of the library share buffer_base.hpp, {lines_of("src/ekiden/sync/buffer_base.hpp")} '
            f'lines.</p><div class="scroll"><table class="short"><thead><tr><th></th><th>condition variables</th>'
            f"<th>on states</th><th>the library's</th></tr></thead><tbody>{rows}</tbody></table></div></section>")
