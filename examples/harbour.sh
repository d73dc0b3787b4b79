# A mechanism of each kind, an index and a churn model of your own, in one experiment.
bypass run examples/harbour.yaml --seed 7 --out out/harbour
