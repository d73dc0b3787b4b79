# Registers 20 vehicles and takes their messages until Ctrl-C; then, in another terminal: python vehicles.py drive
cd "$(dirname "$0")"
[ -e fleet/registry.db ] || python vehicles.py register
exec bypass ingest start --folder fleet --tcp "${ADDRESS:-127.0.0.1:7791}"
