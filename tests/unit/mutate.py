"""Writes sources that contain all mutants of a list. Used by sim_kafka/mutants.py and sim_server/mutants.py.

A mutant has a name, a file, a text that occurs there exactly once, and its replacement. MUTANT in the replacement is true
while the variable `mutant` of the test has the number of the mutant.
"""

import sys
from pathlib import Path


def write(namespace, mutants, sources, out):
    """Writes the changed files and the names of the mutants (mutants.inc) into the folder `out`."""
    texts = {}
    for number, (name, file, before, after) in enumerate(mutants):
        text = texts.get(file) or (Path(sources) / file).read_text(encoding="utf-8")
        if text.count(before) != 1:
            sys.exit(f"mutate: '{name}': this stands in {file} {text.count(before)} times, not once: {before}")
        texts[file] = text.replace(before, after.replace("MUTANT", f"({namespace}::mutant == {number})"))
    for file, text in texts.items():
        declared = f"namespace {namespace} {{\nextern int mutant;\n}}\n"
        (Path(out) / file).write_text(declared + text, encoding="utf-8")
    names = "".join(f'"{name}",\n' for name, *_ in mutants)
    (Path(out) / "mutants.inc").write_text(names, encoding="utf-8")
