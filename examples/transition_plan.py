"""A researcher's question: what does it cost to report places less often?"""

from pathlib import Path

from bypass import run

for threshold in (5, 20, 80):
    result = run(
        Path(__file__).with_name("market-day.yaml"),
        seed=7,
        set={"filter.threshold": threshold},
    )
    print(f"a report every {threshold} m")
    for phase in result.phases:
        print(
            f"  {phase.name:8} {phase.mechanisms['filter']['name']:8}"
            f" recall {phase.recall.mean:.2f}, precision {phase.precision.mean:.2f},"
            f" {1000 * phase.traffic['context_up']:.0f} bit/s of context from each client"
        )
