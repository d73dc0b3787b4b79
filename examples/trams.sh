cd examples
bypass broker --open --listen ipc://trams.sock > trams.log 2>&1 & broker=$!
python trams.py
kill $broker; wait $broker
