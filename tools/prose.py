"""Plain English: flags what docs/ and the comments of public headers should not say, with proselint and a list of our own.

prose.py [FILE...]            flags; by default the files that PLAIN names
prose.py --draw N --seed S    draws N sentences at random from the pages and the comments of headers, for a reader without context
"""

import argparse
import random
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools/rules"))
import tree  # noqa: E402  the repository's files

# Pages and folders whose prose is checked.
PLAIN = (
    "README.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "check/README.md", "docs", "lab/README.md",
    "lab/report/measurements_notes.md", "tests/seams/README.md", "src/ekiden",
)
# Made by a script.
MADE = re.compile(r"^docs/measurements\.md$")
WORDS = ROOT / "tools/site/plain_words.txt"
LONGEST = 35  # words in a sentence; most should have 20
# proselint's own checks that fit technical prose.
CHECKS = ("hedging", "lexical_illusions", "malapropisms", "misc.illogic", "nonwords", "redundancy", "weasel_words")

FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)")
END = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(`*]*(?:[A-Z`]|ekiden))")


def paragraphs(path):
    """Pairs (line, text) of the prose in a page, or in the comments of a source."""
    source = tree.text(ROOT, path)
    if path.suffix == ".md":
        lines = FENCE.sub(lambda fenced: tree.blank(fenced[0]), source).splitlines()
        lines = ["" if line.startswith("    ") else line for line in lines]  # code, too
    else:
        code = tree.code(source).splitlines()
        lines = [re.sub(r"^.*?//+<?", "", line) for line in tree.comments(source).splitlines()]
        # A comment behind code is a paragraph, and so is each row of a table or list of names.
        is_row = re.compile(r"\S {2,}\S|^ {2,}\S").search
        lines = ["\0" + line if before.strip() or is_row(line) else line for before, line in zip(code, lines)]
    start, block = 0, []
    for number, line in enumerate([*lines, ""], 1):
        starts_item = re.match(r"\s*(?:[*+-]\s|\d+\.\s|\||#|\0)", line)
        line = line.lstrip("\0").strip()
        if block and (not line or starts_item):
            yield start, " ".join(block)
            block = []
        if not line or line.startswith("#"):
            continue
        if line.startswith("|"):  # a table: each cell is a paragraph
            for cell in line.strip("|").split("|"):
                if len(cell.split()) > 4:
                    yield number, cell.strip()
            continue
        if not block:
            start = number
        block.append(re.sub(r"^(?:[*+-]|\d+\.)\s+", "", line))


def sentences(path):
    """Pairs (line of the paragraph, sentence)."""
    for line, text in paragraphs(path):
        text = re.sub(r"\[[A-Z]{2}\d+\]\s*", "", text).replace("**", "")
        for sentence in END.split(text):
            if len(sentence.split()) > 3:
                yield line, sentence.strip()


def prose_files():
    """The pages, and the headers whose comments a reader meets."""
    found = [*tree.files(ROOT, ".md"), *tree.files(ROOT, ".hpp", under="src")]
    return [path for path in found if path.parts[0] not in ("tests", "packaging")]


def chosen_files(names):
    files = []
    for name in names:
        path = Path(name)
        inside = tree.files(ROOT, ".md", ".hpp", under=name) if (ROOT / path).is_dir() else []
        files += [each for each in inside if not MADE.search(each.as_posix())] or [path]
    return files


def words():
    for line in WORDS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            bad, good = line.split(" -> ")
            yield re.compile(rf"\b(?:{bad})\b", re.IGNORECASE), good


def flags(path, listed, lint):
    for line, sentence in sentences(path):
        bare = LINK.sub("X", re.sub(r"`[^`]*`", "X", sentence))
        for pattern, good in listed:
            if found := pattern.search(bare):
                yield line, f"'{found[0]}': write {good}", sentence
        count = len(bare.split())
        if count > LONGEST:
            yield line, f"{count} words: split it", sentence
        for message in lint(bare):
            yield line, message, sentence


def proselint_flags():
    from proselint.checks import __register__
    from proselint.registry import CheckRegistry
    from proselint.tools import LintFile

    CheckRegistry().register_many(__register__)
    config = {"max_errors": 100, "checks": {name: True for name in CHECKS}}
    return lambda text: [result.check_result.message for result in LintFile("prose", text).lint(config)]


def draw(count, seed):
    pool = [(path, line, sentence) for path in prose_files() for line, sentence in sentences(path)]
    for path, line, sentence in random.Random(seed).sample(pool, count):
        print(f"{path}:{line}: " + LINK.sub(r"\1", sentence))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=PLAIN)
    parser.add_argument("--draw", type=int, metavar="N")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    if given.draw:
        return draw(given.draw, given.seed)
    listed, lint, found = list(words()), proselint_flags(), 0
    for path in chosen_files(given.files):
        for line, message, sentence in flags(path, listed, lint):
            print(f"{path}:{line}: {message}\n    {sentence}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
