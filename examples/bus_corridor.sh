cd examples
bypass broker --open --listen ipc://buses.sock --store buses.db > buses.log 2>&1 & broker=$!
python bus_corridor.py
kill $broker; wait $broker
