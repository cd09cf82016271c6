"""Writes the queries of a Grafana dashboard as Prometheus rules, for promtool to judge, and checks
what no schema of Grafana is published for: ids, places and units of the panels.

    dashboard.py DASHBOARD.json >rules.yaml
"""

import json
import sys


def overlap(one, two):
    return (
        one["x"] < two["x"] + two["w"]
        and two["x"] < one["x"] + one["w"]
        and one["y"] < two["y"] + two["h"]
        and two["y"] < one["y"] + one["h"]
    )


def main(path):
    dashboard = json.load(open(path, encoding="utf-8"))
    panels = dashboard["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels), "two panels have one id"
    for at, panel in enumerate(panels):
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        assert panel["fieldConfig"]["defaults"].get("unit"), panel["title"]
        assert panel["datasource"]["uid"] == "${datasource}", panel["title"]
        for other in panels[:at]:
            assert not overlap(place, other["gridPos"]), (panel["title"], other["title"])
    rules = []
    for panel in panels:
        for target in panel["targets"]:
            expr = target["expr"].replace("$__rate_interval", "1m").replace("$job", ".*")
            assert "$" not in expr, expr
            rules.append({"record": f"panel:{len(rules)}", "expr": expr})
    # JSON is YAML.
    json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
