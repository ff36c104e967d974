#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Opens the first views of waveforms in GTKWave on a virtual screen, reads back its contents, and keeps screenshots.

Prints a line for each test: `test NAME ... ok`, FAILED, or `skipped: REASON`. Screenshots: out/see/gtkwave/*.png.
"""

import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
TREE = ROOT / ".tools/see/gtkwave"
OUT = ROOT / "out/see/gtkwave"
GYRE = ROOT / "target/release/gyre"
SCREEN = (1600, 1000)
LIMIT_S = 30

# Contents of the window as GTKWave reports them: a row a line, with flags and values at the named markers.
ASK = """
puts "window [gtkwave::getWindowStartTime] [gtkwave::getWindowEndTime] [gtkwave::getMinTime] [gtkwave::getMaxTime]"
puts "file [gtkwave::getDumpFileName]"
foreach letter {A B} { puts "marker $letter [gtkwave::getNamedMarker $letter]" }
set total [gtkwave::getTotalNumTraces]
for {set row 0} {$row < $total} {incr row} {
    puts "row\\t[gtkwave::getTraceFlagsFromIndex $row]\\t[gtkwave::getTraceNameFromIndex $row]"
}
foreach at [split [lindex $::env(ASK_TIMES) 0] ,] {
    gtkwave::setMarker $at
    for {set row 0} {$row < $total} {incr row} {
        if {[gtkwave::getTraceNameFromIndex $row] == "stage"} {
            puts "stage\\t$at\\t[gtkwave::getTraceValueAtMarkerFromIndex $row]"
        }
    }
}
gtkwave::setMarker [lindex $::env(ASK_TIMES) 1]
puts "visible [gtkwave::getVisibleNumTraces]"
puts "end"
flush stdout
"""


class Skipped(Exception):
    """GTKWave is not available."""


def environment():
    """Programs and libraries of the unpacked packages before the system's."""
    env = dict(os.environ)
    env["PATH"] = f"{TREE / 'usr/bin'}:{env.get('PATH', '')}"
    libraries = [str(path) for path in sorted((TREE / "usr/lib").glob("*-linux-gnu*"))]
    libraries += [str(TREE / "usr/lib")]
    env["LD_LIBRARY_PATH"] = ":".join(libraries)
    if (TREE / "usr/share/glib-2.0/schemas/gschemas.compiled").exists():
        env["GSETTINGS_SCHEMA_DIR"] = str(TREE / "usr/share/glib-2.0/schemas")
    for name, folder in (("TCL_LIBRARY", "tcl8.6"), ("TK_LIBRARY", "tk8.6")):
        path = TREE / "usr/share/tcltk" / folder
        if path.exists():
            env[name] = str(path)
    env.update(GSETTINGS_BACKEND="memory", NO_AT_BRIDGE="1", GDK_BACKEND="x11", LC_ALL="C.UTF-8")
    return env


def gyre(*words, status=0):
    """Runs a command; returns its output."""
    done = subprocess.run([GYRE, *map(str, words)], capture_output=True, text=True, cwd=OUT)
    assert done.returncode == status, f"{words}: status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


class Screen:
    """A virtual screen."""

    def __init__(self, folder):
        env = environment()
        env["XKB_BIN"] = str(TREE / "usr/bin")
        library = TREE / "xkbcomp.so"
        if library.exists():
            env["LD_PRELOAD"] = str(library)
        size = f"{SCREEN[0]}x{SCREEN[1]}x24"
        words = ["Xvfb", "-displayfd", "1", "-screen", "0", size, "-nolisten", "tcp", "-fbdir", folder]
        log = open(OUT / "xvfb.log", "w", encoding="utf-8")
        path = shutil.which("Xvfb", path=env["PATH"])
        if path is None:
            raise Skipped("no Xvfb; run tools/see.sh")
        self.process = subprocess.Popen([path, *words[1:]], stdout=subprocess.PIPE, stderr=log, env=env)
        self.file = pathlib.Path(folder) / "Xvfb_screen0"
        number = self.process.stdout.readline().decode().strip()
        assert number, f"no virtual screen: {(OUT / 'xvfb.log').read_text()}"
        self.name = f":{number}"

    def pixels(self):
        """Width, height, and the rows of the screen as red, green, blue."""
        data = self.file.read_bytes()
        head = struct.unpack(">25I", data[:100])
        width, height, line, colours = head[4], head[5], head[12], head[19]
        begin = head[0] + 12 * colours
        rows = []
        for y in range(height):
            row = data[begin + y * line : begin + y * line + 4 * width]
            out = bytearray(3 * width)
            out[0::3], out[1::3], out[2::3] = row[2::4], row[1::4], row[0::4]
            rows.append(bytes(out))
        return width, height, rows

    def close(self):
        self.process.terminate()
        self.process.wait(LIMIT_S)


def save_png(path, width, height, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">2I5B", width, height, 8, 2, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row for row in rows))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", body) + chunk(b"IEND", b""))


def expected(view):
    """Rows and markers that a save file asks for."""
    rows, markers, times = [], {}, []
    flags = 0
    for line in view.read_text(encoding="utf-8").splitlines():
        if line.startswith("@"):
            flags = int(line[1:], 16)
        elif line.startswith("-"):
            rows.append((flags, line[1:]))
        elif line.startswith("+{"):
            rows.append((flags, line[2 : line.index("} ")]))
        elif line.startswith("*"):
            times = [int(word) for word in line.split(" ")[2:]]
        elif line.startswith("[markername] "):
            letter = line[13]
            markers[letter] = times[ord(letter) - ord("A")]
    return rows, markers


def show(screen, view, name, at=(), words=None):
    """Opens a save file; returns the contents that GTKWave reports. Leaves a screenshot."""
    rows, markers = expected(view)
    home = tempfile.mkdtemp(dir=OUT)
    script = OUT / f"{name}.tcl"
    script.write_text(ASK, encoding="utf-8")
    env = environment()
    cursor = markers.get("A", markers.get("B", 0))
    times = ",".join(map(str, at))
    env.update(DISPLAY=screen.name, HOME=home, ASK_TIMES=f"{times or '{}'} {cursor}")
    log = OUT / f"{name}.log"
    with open(log, "w", encoding="utf-8") as stream:
        command = ["gtkwave", "-S", str(script), *(words or [str(view)])]
        path = shutil.which("gtkwave", path=env["PATH"])
        if path is None:
            raise Skipped("no gtkwave; run tools/see.sh")
        process = subprocess.Popen([path, *command[1:]], stdout=stream, stderr=stream, env=env, cwd=home)
    try:
        until = time.monotonic() + LIMIT_S
        while "\nend\n" not in log.read_text(encoding="utf-8", errors="replace"):
            said = log.read_text(encoding="utf-8", errors="replace")
            assert process.poll() is None, f"GTKWave ended: {said}"
            assert time.monotonic() < until, f"GTKWave does not answer: {said}"
            time.sleep(0.05)
        # Until it has drawn all.
        last = None
        while time.monotonic() < until:
            pixels = screen.pixels()
            if pixels == last:
                break
            last = pixels
            time.sleep(0.4)
        save_png(OUT / f"{name}.png", *pixels)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        shutil.rmtree(home, ignore_errors=True)
    said = {"rows": [], "stages": {}, "markers": {}, "pixels": pixels}
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        kind, _, rest = line.partition("\t" if "\t" in line else " ")
        if kind == "row":
            flags, title = rest.split("\t")
            said["rows"].append((int(flags), title))
        elif kind == "stage":
            moment, value = rest.split("\t")
            said["stages"][int(moment)] = value.strip('" ')
        elif kind == "marker":
            letter, moment = rest.split(" ")
            said["markers"][letter] = int(moment)
        elif kind in ("window", "file", "visible"):
            said[kind] = rest.split(" ")
    # Flags that GTKWave adds of its own: highlighted ones.
    shown = [(flags & ~1, title) for flags, title in said["rows"]]
    assert shown == rows, f"GTKWave shows {shown}, not {rows}"
    for letter, moment in markers.items():
        assert said["markers"][letter] == moment, f"marker {letter}: {said['markers']}, not {moment}"
    start, end, first, last = map(int, said["window"])
    assert start == first and end >= last, f"of {first} to {last} it shows {start} to {end}"
    assert end - first < 1.5 * (last - first), f"{first} to {last} take a small part of {start} to {end}"
    return said


def vcd_stages(path):
    """The words of the row of stages in a VCD file, with their times."""
    code, now, found = None, 0, []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            if code is None:
                words = line.split()
                if words[:1] == ["$var"] and words[4] == "stage":
                    code = words[3]
            elif line.startswith("#"):
                now = int(line[1:])
            elif line.startswith("b") and line.endswith(f" {code}\n"):
                bits = line[1:].split(" ")[0]
                bits = bits.zfill(-(-len(bits) // 8) * 8)
                word = bytes(int(bits[at : at + 8], 2) for at in range(0, len(bits), 8)).decode().strip("\0 ")
                found.append((now, word))
    return found


def fresh(name):
    for path in OUT.glob(f"{name}.*"):
        path.unlink()
    return OUT / name


def first_message(screen, ending):
    base = fresh(f"first-message-{ending}")
    gyre("run", "lulesh", "--trace", base.with_suffix(f".{ending}"))
    view = base.with_suffix(".gtkw")
    # The same run as VCD has the words to compare with.
    plain = fresh("words").with_suffix(".vcd")
    gyre("run", "lulesh", "--trace", plain)
    stages = vcd_stages(plain)
    said = show(screen, view, base.name, at=[moment for moment, _ in stages])
    assert {m: w for m, w in stages} == said["stages"], f"{said['stages']} are not {stages}"
    words = [word for _, word in stages]
    for word in ("make descriptor", "fetch descriptor", "inject", "hop c+", "arrive", "done"):
        assert word in words, f"no {word} in {words}"
    _, markers = expected(view)
    assert said["stages"][markers["A"]] == "make descriptor" and said["stages"][markers["B"]] == "done"
    # Most of the rows are in the window, and the row of stages stands out.
    assert int(said["visible"][0]) >= 35, said["visible"]
    _, _, rows = said["pixels"]
    yellow = sum(row[x : x + 3] == b"\xff\xff\x00" for row in rows for x in range(0, len(row), 3))
    assert yellow > 500, f"{yellow} yellow pixels"


def x2_gtkwave_shows_the_first_message_in_vcd(screen):
    first_message(screen, "vcd")


def x2_gtkwave_shows_the_first_message_in_fst(screen):
    first_message(screen, "fst")


def x2_gtkwave_finds_waveform_and_view_wherever_they_are(screen):
    base = fresh("moved")
    gyre("run", "lulesh", "--trace", base.with_suffix(".fst"))
    with tempfile.TemporaryDirectory(dir=OUT) as other:
        for ending in (".fst", ".gtkw"):
            shutil.move(base.with_suffix(ending), pathlib.Path(other) / f"moved{ending}")
        view = pathlib.Path(other) / "moved.gtkw"
        said = show(screen, view, "moved")
        assert said["file"] == [str(view.with_suffix(".fst"))], said["file"]
        # By the waveform's name, GTKWave is told to look for the other.
        show(screen, view, "moved", words=["-A", str(view.with_suffix(".fst"))])


def x2_gtkwave_shows_a_run_that_failed(screen):
    base = fresh("failed")
    program = OUT / "waits.goal"
    # After a message each waits for one of the other.
    ranks = (("send 64b to 1", 1, 2, 3), ("recv 64b from 0", 0, 3, 2))
    program.write_text(
        "num_ranks 2\n"
        + "".join(
            f"rank {rank} {{\na: {first} tag 1\nw: recv 8b from {other} tag {wanted}\n"
            f"s: send 8b to {other} tag {sent}\ns requires w\n}}\n"
            for rank, (first, other, wanted, sent) in enumerate(ranks)
        ),
        encoding="utf-8",
    )
    said = gyre("run", program, "--shape", "2", "--trace-on-failure", base.with_suffix(".vcd"), status=1)
    assert f": {base.with_suffix('.gtkw')}\n" in said, said
    said = show(screen, base.with_suffix(".gtkw"), "failed")
    assert "B" in said["markers"], said["markers"]


def x2_gtkwave_shows_a_bench_of_routers(screen):
    base = fresh("routers")
    window = "--trace-window"
    gyre("bench", "traffic", "--shape", "3x3", "--trace", base.with_suffix(".fst"), window, "200:400")
    show(screen, base.with_suffix(".gtkw"), "routers")


TESTS = [
    x2_gtkwave_shows_the_first_message_in_vcd,
    x2_gtkwave_shows_the_first_message_in_fst,
    x2_gtkwave_finds_waveform_and_view_wherever_they_are,
    x2_gtkwave_shows_a_run_that_failed,
    x2_gtkwave_shows_a_bench_of_routers,
]


def main():
    note = TREE.with_suffix(".missing")
    reason = None
    if note.exists():
        reason = note.read_text(encoding="utf-8").strip()
    elif not (TREE / ".stamp").exists():
        reason = "GTKWave is not set up; run tools/see.sh"
    elif not GYRE.exists():
        reason = "no target/release/gyre; run make build"
    screen, failed = None, False
    OUT.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for test in TESTS:
            try:
                if reason:
                    raise Skipped(reason)
                screen = screen or Screen(folder)
                test(screen)
                print(f"test {test.__name__} ... ok", flush=True)
            except Skipped as skipped:
                reason = str(skipped)
                print(f"test {test.__name__} ... skipped: {reason}", flush=True)
            except (AssertionError, OSError, subprocess.SubprocessError) as error:
                failed = True
                print(f"test {test.__name__} ... FAILED\n{error}", flush=True)
        if screen:
            screen.close()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
