# Everything of your own, each in one file, in one experiment.
bypass run examples/fair.yaml --seed 7 --out out/fair
echo "clients that kept their probability: $(grep -c KeepProbability out/fair/transitions.jsonl)"
python - <<'PYTHON'
import json

rules = json.load(open("out/fair/summary.json"))["extra"]["rules"]
print("rules fired:", ", ".join(f"{rule} {times} times" for rule, times in sorted(rules.items())))
PYTHON
