#!/bin/sh
# Holds the SARIF report to the official schema of SARIF 2.1.0: tests/sarif/run.sh [HEADWATER]
#
# Needs the network once, curl and Python 3.9 or newer. The schema (OASIS) is taken out of the published
# package of the crate `serde-sarif`, pinned by content, and not copied into the repository.
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
headwater=$(realpath "${1:-$root/target/release/headwater}")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/headwater/sarif
name=serde-sarif-0.8.0
sum=a053c46f18a8043570d4e32fefc4c6377f82bf29ec310a33e93f273048e3b0be

mkdir -p "$cache"
if ! [ -f "$cache/$name/src/schema.json" ]; then
    curl --silent --show-error --fail --location --output "$cache/$name.crate" \
        "https://static.crates.io/crates/serde-sarif/$name.crate"
    echo "$sum  $cache/$name.crate" | sha256sum --check --quiet
    tar -xzf "$cache/$name.crate" -C "$cache" "$name/src/schema.json"
fi
if ! "$cache/python/bin/python" -c 'import jsonschema' 2>/dev/null; then
    python3 -m venv "$cache/python"
    "$cache/python/bin/pip" install --quiet jsonschema==4.25.1
fi

# Beside the planted faults, one that a comment takes away and one with several places.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -R "$root/templates/lint" "$folder/lint"
cat >"$folder/lint/suppressed.j2" <<'EOF'
{# headwater: ignore[HW201] the clock is frozen in tests #}
It is {{ now }}.
You are a clerk who answers politely.
EOF
cat >"$folder/lint/twice.j2" <<'EOF'
It is {{ now }}.
You are a clerk who answers politely.
Still {{ now }}.
Never promise a date of delivery.
EOF

cd "$folder"
# Findings are what the planted faults are for: 1 is right.
"$headwater" lint lint --format sarif >"$cache/report.sarif" || [ $? -eq 1 ]
"$cache/python/bin/python" - "$cache/$name/src/schema.json" "$cache/report.sarif" <<'PY'
import json, sys
import jsonschema

schema, report = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
jsonschema.Draft7Validator.check_schema(schema)
faults = list(jsonschema.Draft7Validator(schema).iter_errors(report))
for fault in faults[:10]:
    print("/".join(map(str, fault.absolute_path)), fault.message[:200], file=sys.stderr)
results = report["runs"][0]["results"]
counts = {key: sum(key in result for result in results) for key in ("fixes", "suppressions", "relatedLocations")}
if faults or len(results) < 70 or not all(counts.values()):
    sys.exit(f"{len(faults)} faults in {len(results)} results, {counts}")
reasons = [each.get("justification") for result in results for each in result.get("suppressions", [])]
if "the clock is frozen in tests" not in reasons:
    sys.exit(f"the reason of a suppression is missing: {reasons}")
print(f"{len(results)} results keep the schema of SARIF 2.1.0; {counts}")
PY
