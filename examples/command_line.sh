bypass run examples/market-day.yaml --seed 7 --duration 120 --set filter.threshold=5 --out out/market-day
ls out/market-day
head -n 5 out/market-day/summary.json
