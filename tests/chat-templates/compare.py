"""Compares what `headwater lint` finds in a folder of chat templates with the reviewed findings.

compare.py FOLDER FINDINGS [--write] -- COMMAND...

A row of FINDINGS is: file, code, line, verdict by hand (`true`, `false`, or `?` for a new one).
"""

import csv
import json
import pathlib
import subprocess
import sys

MOST_FALSE_OF_100_FILES = 2


def found(folder, command):
    run = subprocess.run(
        [*command, "lint", str(folder), "--format", "json", "--fail-on", "error"],
        capture_output=True,
        check=False,
    )
    if run.returncode not in (0, 1):
        sys.exit(f"headwater stopped with {run.returncode}: {run.stderr.decode()}")
    report = json.loads(run.stdout)
    if report["skipped"]:
        sys.exit(f"not judged: {report['skipped']}")
    name = lambda path: pathlib.PurePath(path).name
    return sorted(
        {(name(each["path"]), each["code"], each["line"]) for each in report["findings"]}
    )


def main():
    arguments, command = sys.argv[1 : sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1 :]
    folder, table = pathlib.Path(arguments[0]), pathlib.Path(arguments[1])
    files = len(list(folder.glob("*.jinja")))
    if files != 71:
        sys.exit(f"{files} templates in {folder}, expected 71")
    reviewed = {}
    if table.exists():
        with table.open(newline="") as rows:
            for file, code, line, verdict in list(csv.reader(rows, delimiter="\t"))[1:]:
                reviewed[file, code, int(line)] = verdict
    now = found(folder, command)
    if "--write" in arguments:
        with table.open("w", newline="") as rows:
            writer = csv.writer(rows, delimiter="\t", lineterminator="\n")
            writer.writerow(["file", "code", "line", "reviewed"])
            writer.writerows([*each, reviewed.get(each, "?")] for each in now)
        reviewed = {each: reviewed.get(each, "?") for each in now}
    new = [each for each in now if each not in reviewed]
    gone = [each for each in reviewed if each not in now]
    open_ = [each for each in now if reviewed.get(each) == "?"]
    false = [each for each in now if reviewed.get(each) == "false"]
    print(f"{files} templates, {len(now)} findings, {len(false)} of them false")
    for what, rows in [("new", new), ("gone", gone), ("not reviewed", open_)]:
        for row in rows:
            print(f"{what}:", *row)
    if new or gone or open_ or len(false) * 100 > MOST_FALSE_OF_100_FILES * files:
        sys.exit(1)


main()
