"""A process that appends numbered messages to the log of a folder, and prints those that are acknowledged."""

import sys
from itertools import count
from pathlib import Path

from bypass.ingest.folder import IngestFolder
from bypass.ingest.log.block import Records
from bypass.ingest.log.catalogue import find_log

if __name__ == "__main__":
    writer = find_log(IngestFolder(Path(sys.argv[1]))).open_writer("w")
    for number in count():
        records = Records()
        for category in range(4):
            records.add("d", category, b"%d" % number, number)
        writer.append(records)
        print(number, flush=True)
