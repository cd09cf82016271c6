"""Reads `headwater demo --json` and checks what the README says of it."""
import json
import sys

policies = json.load(sys.stdin)["policies"]
ours, theirs = policies["headwater"], policies["round_robin"]
later = ours["hit_rate_later_turns"]
ratio = ours["ttft_mean_ms"] / theirs["ttft_mean_ms"]
print(f"hit rate on turns 2 to 5: {later:.1%}; mean TTFT against round robin: {ratio:.2f}")
if later < 0.85:
    sys.exit("the hit rate on turns 2 to 5 is below 85 %")
if ratio > 0.5:
    sys.exit("the mean time to first token is more than half of round robin's")
