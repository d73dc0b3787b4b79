# The same files make traces and are judged on them: here, and on Spark, where workers are sent the files.
bypass traces examples/carousel.py:Carousel --clients 60 --duration 60 --seed 7 --out out/carousel
cd examples
for engine in local spark; do
  bypass evaluate ../out/carousel --mechanism hexagons.py:Hexagons --schemes radial,hexagons:50 --workloads stage.py:Stage \
    --engine $engine --out ../out/$engine
done
diff ../out/local/cells/*.parquet ../out/spark/cells/*.parquet && echo "the figures are the same"
