cd examples
bypass broker --open --listen ipc://trams.sock --store trams.db > trams.log 2>&1 & broker=$!
python trams.py
kill $broker; wait $broker
