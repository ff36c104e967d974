#!/usr/bin/env bash
# GTKWave opens the first views of waveforms on a virtual screen; tools/see.sh installs it.
exec python3 "$(dirname "$0")/gtkwave.py"
