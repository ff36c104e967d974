#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# GTKWave opens the first views of waveforms on a virtual screen; tools/see.sh installs it.
exec python3 "$(dirname "$0")/gtkwave.py"
