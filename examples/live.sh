cd examples
bypass keygen > /dev/null && for name in alice bob; do bypass keygen $name; done
bypass keygen admin --admin

bypass broker > broker.log 2>&1 & broker=$!
python live_client.py bob subscribe          # bob goes away; his session stays
python live_client.py alice say good morning
bypass transition filter ste --set alpha=1.5 --why "people walk faster now"
python live_client.py alice say good evening

{ kill -9 $broker; wait $broker || true; } 2> /dev/null
bypass broker > broker.log 2>&1 & broker=$!
python live_client.py bob hear 2             # what he has missed, whatever has happened
bypass status | grep scheme
kill $broker; wait $broker
