# SPDX-License-Identifier: Apache-2.0
"""Lines of results out of a JUnit file, for tests/run.sh: verdict, group, test, with tabs between.

usage: junit_results.py GROUP NAME FILE

Failures are shown on stderr, skipped tests with their reason. A test that skips for want of the corpus although
STOKER_CORPUS names one is a failure: a corpus that is there must be used.
"""
import os
import sys
import xml.etree.ElementTree as ET


def text_of(case):
    parts = [element.get("message") or "" for element in case] + [element.text or "" for element in case]
    return "\n".join(part for part in parts if part).strip()


def verdict_of(case):
    """(verdict, what to show)."""
    skipped = case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed", "\n".join(text_of(case).splitlines()[-60:])
    if skipped and os.environ.get("STOKER_CORPUS") and "STOKER_CORPUS" in text_of(case):
        return "failed", "skipped for want of the corpus, although STOKER_CORPUS names one"
    if skipped:
        lines = text_of(case).splitlines() or ["no reason given"]
        return "skipped", next((line for line in reversed(lines) if "skip" in line.lower()), lines[-1])
    return "passed", ""


def main():
    group, name, path = sys.argv[1:4]
    try:
        cases = list(ET.parse(path).getroot().iter("testcase"))
    except (OSError, ET.ParseError) as error:
        print(f"failed\t{group}\t{name}: no results: {error}")
        print(f"  FAILED {name}: no results: {error}", file=sys.stderr)
        return
    if not cases:
        print(f"failed\t{group}\t{name}: no tests ran")
        print(f"  FAILED {name}: no tests ran", file=sys.stderr)
    for case in cases:
        verdict, show = verdict_of(case)
        title = f"{name}: {case.get('classname', '') + '.' if 'python' in name else ''}{case.get('name')}"
        print(f"{verdict}\t{group}\t{title}")
        if verdict == "failed":
            print(f"  FAILED {title}", *("    " + line for line in show.splitlines()), sep="\n", file=sys.stderr)
        elif verdict == "skipped":
            print(f"  skipped {title}: {show}", file=sys.stderr)


if __name__ == "__main__":
    main()
