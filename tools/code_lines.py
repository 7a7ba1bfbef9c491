"""Counts the library's lines of code for each part, without comments and blank lines. code_lines.py [FOLDER]"""

import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools/rules"))
import tree  # noqa: E402  the repository's files


def main():
    base = Path(sys.argv[1] if len(sys.argv) > 1 else "src/ekiden")
    lines, files = Counter(), Counter()
    for path in tree.files(ROOT, *tree.CPP, under=base):
        inside = path.relative_to(base).parts
        part = inside[0] if len(inside) > 1 else "."
        code = tree.SCANNER.sub(lambda found: "" if found["comment"] else found[0], tree.text(ROOT, path))
        lines[part] += sum(1 for line in code.splitlines() if line.strip())
        files[part] += 1
    for part in sorted(lines):
        print(f"{part:12} {files[part]:4} files {lines[part]:7,} lines of code")
    print(f"{'all':12} {sum(files.values()):4} files {sum(lines.values()):7,} lines of code")


if __name__ == "__main__":
    main()
