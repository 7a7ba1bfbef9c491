"""Names the tests that failed, each with the end of what it printed: failed_tests.py JUNIT_FILE...

ctest prints them too, but where they ran, thousands of lines above the end.
"""

import pathlib
import sys
import xml.etree.ElementTree as xml

LINES = 40  # of each test's output


def main() -> None:
    for path in sys.argv[1:]:
        for case in xml.parse(path).iter("testcase"):
            if case.get("status") != "fail":
                continue
            print(f"\nFAILED in {pathlib.Path(path).parent.name}: {case.get('name')}")
            for line in (case.findtext("system-out") or "").splitlines()[-LINES:]:
                print("    " + line)


if __name__ == "__main__":
    main()
