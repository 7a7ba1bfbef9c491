"""Prints the failed tests, each with the end of its output, or with the first message of a sanitizer: failed_tests.py
JUNIT_FILE...

ctest prints them too, but thousands of lines above the end.
"""

import pathlib
import re
import sys
import xml.etree.ElementTree as xml

LINES = 40  # of each test's output
REPORT = re.compile("WARNING: ThreadSanitizer|ERROR: (Address|Leak)Sanitizer|: runtime error: ")


def excerpt(output: str) -> list[str]:
    lines = output.splitlines()
    first = next((i for i, line in enumerate(lines) if REPORT.search(line)), None)
    return lines[-LINES:] if first is None else lines[first : first + LINES]


def main() -> None:
    for path in sys.argv[1:]:
        for case in xml.parse(path).iter("testcase"):
            if case.get("status") != "fail":
                continue
            print(f"\nFAILED in {pathlib.Path(path).parent.name}: {case.get('name')}")
            for line in excerpt(case.findtext("system-out") or ""):
                print("    " + line)


if __name__ == "__main__":
    main()
