bypass traces darmstadt --clients 120 --duration 120 --seed 7 --out out/darmstadt
bypass evaluate out/darmstadt --schemes radial,ste:1.5,grid:5,egrid:10 --workloads ar,lbs --out out/schemes
