#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs programs of MPI on the machine: benchmarks and tests of MPI for Python, NetPIPE, the C programs beside this file, with MPICH
# and with Open MPI, and programs that fail. Prints `test NAME ... ok`, FAILED with its output, or `skipped: REASON`, and their
# sum in the words of cargo's tests. An argument chooses the tests whose names contain it.
#
# MPI_SUITE=all tests/mpi/run.sh suite runs all of MPI for Python's own tests that may pass; without it, a part runs.
set -uo pipefail
cd "$(dirname "$0")/../.."

wanted=${1:-}
gyre=$PWD/target/release/gyre
mpi=$PWD/.tools/mpi/bin
openmpi=$PWD/.tools/openmpi
suite=$PWD/.tools/mpi/src/mpi4py-4.1.2
netpipe=$PWD/.tools/netpipe/NPmpich2
tests=$PWD/tests/mpi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
begin=$SECONDS
skipped=0
# A line for each test that has run: ok or FAILED.
outcomes=$work/outcomes
touch "$outcomes"

# test NAME COMMAND...: runs a function with a folder of its own, $dir, beside one other test; it fails with a reason on standard
# output.
test_() {
    [[ $1 == *"$wanted"* ]] || return 0
    while [ "$(jobs -rp | wc -l)" -ge 2 ]; do
        wait -n
    done
    one_test "$@" &
}

one_test() {
    local name=$1 reason outcome=ok start=$SECONDS
    shift
    dir=$work/$name
    mkdir -p "$dir"
    reason=$("$@" 2>&1) || {
        outcome=FAILED
        reason+=$'\n'$(tail -n 15 "$dir"/*.err "$dir"/*.out 2>/dev/null)
    }
    echo "$outcome" >>"$outcomes"
    [ "$outcome" = FAILED ] || reason=
    printf 'test %s ... %s\n  %d s\n%s' "$name" "$outcome" $((SECONDS - start)) "${reason:+$reason$'\n'}"
}

# alone NAME COMMAND...: the same for a test that looks at state shared by all jobs of this host.
alone() {
    wait
    test_ "$@"
    wait
}

# skip NAME REASON
skip() {
    [[ $1 == *"$wanted"* ]] || return 0
    echo "test $1 ... skipped: $2"
    skipped=$((skipped + 1))
}

# machine SECONDS RUN OPTIONS...: `gyre exec` within a limit, into RUN.out and RUN.err; its status.
machine() {
    local limit=$1 run=$dir/$2
    shift 2
    timeout -k 5 "$limit" "$gyre" exec --host-slice "${slice:-60}" "$@" >"$run.out" 2>"$run.err" </dev/null
}

# says FILE PATTERN: a line of a file matches.
says() {
    grep -qE -- "$2" "$1" && return
    echo "no line of $(basename "$1") matches: $2"
    return 1
}

# succeeds SECONDS RUN OPTIONS...: the same as machine, and it must succeed, and leave nothing behind.
succeeds() {
    local status=0
    machine "$@" || status=$?
    if [ "$status" -eq 0 ]; then
        grep -E 'without destroying|refused' "$dir/$2.err" || return 0
    fi
    echo "status $status of: gyre exec ${*:3}"
    return 1
}

# twice SECONDS OPTIONS...: cycles, hash and output of two runs are the same, the second with two threads.
twice() {
    local limit=$1
    shift
    succeeds "$limit" first "$@" && succeeds "$limit" second --threads 2 "$@" || return
    says "$dir/first.err" '^[0-9]+ cycles simulated$' && says "$dir/first.err" '^hash [0-9a-f]{16}$' || return
    diff "$dir/first.err" "$dir/second.err" && diff "$dir/first.out" "$dir/second.out"
}

# --- Benchmarks of MPI for Python

bench() {
    twice 60 -n 8 --shape 2x2x2 -- "$mpi/python3" -m mpi4py.bench "$@"
}

helloworld() {
    local rank
    bench helloworld || return
    for rank in 0 1 2 3 4 5 6 7; do
        echo "Hello, World! I am process $rank of 8 on $(uname -n)."
    done | diff - "$dir/first.out"
}

ringtest() {
    bench ringtest -n 64 -s 4 && says "$dir/first.out" '\(8 processes\)|8 processes'
}

pingpong() {
    bench pingpong -n 4096 -s 1 -l 20 && says "$dir/first.out" '^ *4096 '
}

# requests ITERATIONS: for how many answers of the machine the two processes wait, in all.
requests() {
    succeeds 60 "pingpong$1" --json "$dir/$1.json" -n 2 --shape 2x1 -- \
        "$mpi/python3" -m mpi4py.bench pingpong -m 8 -n 8 -s 0 -l "$1" >&2 || return
    grep -oE '"requests": [0-9]+' "$dir/$1.json" | grep -oE '[0-9]+$'
}

# Both ends of a message of 8 B, with their polls until it comes.
requests_of_a_message() {
    local few many
    few=$(requests 100) && many=$(requests 1100) || return
    # Two messages an iteration.
    echo "$(((many - few) / 20)) hundredths of a request a message" >&3
    [ $((many - few)) -gt 2000 ] && [ $(((many - few) / 20)) -le 1000 ]
}

# --- C programs

# More flags of a program's compiler.
declare -A flags=([hybrid]='-fopenmp')

# compile NAME
compile() {
    (
        # Tests that run at once share their programs.
        flock 9
        [ -x "$work/$1" ] || "$mpi/mpicc" -O1 -Wall -Wextra -Werror ${flags[$1]:-} -o "$work/$1" "$tests/c/$1.c" -ldl -lpthread
    ) 9>"$work/$1.lock"
}

# sections PROGRAM OPTIONS... -- SECTIONS...: these sections (default: all) end on all tasks, in that order.
sections() {
    local program=$1 options=()
    shift
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    shift
    compile "$program" && succeeds 180 run --host-limit 60 "${options[@]}" -- "$work/$program" "$@" || return
    if [ "$#" -gt 0 ]; then
        printf '%s\n' "$@" | diff - "$dir/run.out"
    else
        [ "$(wc -l <"$dir/run.out")" -ge 3 ]
    fi
}

# open_mpi FUNCTION ARGUMENTS...: the same with programs that Open MPI's compiler makes.
open_mpi() {
    local mpi=$openmpi/bin work=$work/open_mpi
    mkdir -p "$work"
    # Folder with the text of its errors.
    OPAL_PREFIX=$openmpi "$@"
}

# objects OPTIONS... -- SECTIONS...: sections of that program, whose files lie in the folder of the test.
objects() {
    cd "$dir" && sections objects "$@"
}

# mpichs FUNCTION ARGUMENTS...: the same with MPICH's own collectives.
mpichs() {
    GYRE_MPI_COLLECTIVES=mpich "$@"
}

# profiled: a tool that is preloaded sees the calls of a program, which have the results of the driver's collectives.
profiled() {
    "$mpi/mpicc" -shared -fPIC -Wall -Wextra -Werror -o "$dir/libtool.so" "$tests/c/tool.c" && compile comm_threads || return
    LD_PRELOAD=$dir/libtool.so succeeds 60 run -n 2 --shape 2x1 -- "$work/comm_threads" || return
    says "$dir/run.out" '^20 barriers, 21 sums$'
}

# repeat PROGRAM SECTIONS...
repeat() {
    compile "$1" && twice 120 -n 4 --shape 2x2 -- "$work/$1" "${@:2}"
}

# windows_repeat: MPICH sends padding of what it tells of a window, which is what its heap held there before.
windows_repeat() {
    compile rma && twice 60 -n 2 --shape 2x1 -- "$work/rma" fence locks
}

# threads_meet: with two tasks, barriers of threads that follow each other let none through before all have come.
threads_meet() {
    compile comm_threads && twice 60 -n 2 --shape 2x1 -- "$work/comm_threads"
}

# within SECONDS COMMAND...: the same, and no run takes longer.
within() {
    local limit=$1 begin=$EPOCHREALTIME took
    shift
    "$@" || return
    took=$(((${EPOCHREALTIME/[^0-9]/} - ${begin/[^0-9]/}) / 1000000))
    [ "$took" -le "$limit" ] && return
    echo "took $took s"
    return 1
}

# children WAY RESULT: what Python's threads and processes say on both tasks.
children() {
    local rank
    succeeds 60 run -n 2 --shape 2x1 --host-limit 30 -- "$mpi/python3" "$tests/children.py" "$1" || return
    for rank in 0 1; do
        echo "$rank $2"
    done | diff - <(sort "$dir/run.out")
}

# --- Failures

# fails PATTERN OPTIONS... -- HOW: status 1 within 30 s, an error that matches, no process left.
fails() {
    local pattern=$1 status=0 left how=${*: -1}
    shift
    set -- "${@:1:$#-2}"
    compile fail && cp "$work/fail" "$dir/fail" || return
    machine 30 run -n 4 --shape 2x2 "$@" -- "$dir/fail" "$how" || status=$?
    # Killed processes leave the table when their parent has waited for them.
    left=$(pgrep -f "^$dir/fail" || true)
    if [ "$status" -ne 1 ]; then
        echo "status $status"
        return 1
    fi
    if [ -n "$left" ]; then
        echo "left behind: $left"
        return 1
    fi
    says "$dir/run.err" "$pattern"
}

# --- Shared memory by name, which MPICH makes for messages of a task to itself

shared() {
    find /dev/shm -maxdepth 1 -name 'mpich_*' | sort
}

# two_jobs PROGRAM ARGUMENTS...: at the same time they print the same, with the same hash, and leave no shared memory.
two_jobs() {
    local one
    shared >"$dir/before"
    compile "$1" || return
    succeeds 120 first -n 4 --shape 2x2 -- "$work/$1" "${@:2}" &
    one=$!
    succeeds 120 second -n 4 --shape 2x2 -- "$work/$1" "${@:2}" && wait "$one" || return
    diff "$dir/first.err" "$dir/second.err" && diff "$dir/first.out" "$dir/second.out" || return
    shared | diff "$dir/before" -
}

# told_to_end SIGNAL: a run that gets a signal once its tasks have shared memory ends by it, and leaves none, and no process.
told_to_end() {
    local status=0 run turn program=$work/rma_$1
    shared >"$dir/before"
    compile rma || return
    cp "$work/rma" "$program"
    # The shell makes background commands ignore SIGINT.
    env --default-signal="$1" "$gyre" exec -n 4 --shape 2x2 -- "$program" >"$dir/run.out" 2>"$dir/run.err" </dev/null &
    run=$!
    for turn in {1..600}; do
        [ "$(shared | comm -13 "$dir/before" - | wc -l)" -lt 4 ] || break
        sleep 0.05
    done
    kill -s "$1" "$run"
    wait "$run" || status=$?
    if [ "$turn" -eq 600 ] || [ "$status" -ne $((128 + $(kill -l "$1"))) ]; then
        echo "status $status"
        return 1
    fi
    # The guardian ends the tasks' processes once the command is gone, and then removes their shared memory.
    for turn in {1..100}; do
        if ! pgrep -f "^$program" >/dev/null && shared | cmp -s "$dir/before" -; then
            break
        fi
        sleep 0.05
    done
    if pgrep -f "^$program"; then
        echo "left behind"
        return 1
    fi
    shared | diff "$dir/before" -
}

# --- MPI for Python's own tests

# modules OUTCOME MODULES: tests of modules (a regular expression) on four tasks; all succeed on every task, and at least so many
# pass.
modules() {
    local least=$1 include=$2 limit=$3 rank
    (cd "$suite" && succeeds "$limit" run -n 4 --shape 2x2 --host-limit 120 -- \
        sh -c 'exec "$@" >"$0.$PMI_RANK.log" 2>&1' "$dir/tests" \
        "$mpi/python3" test/main.py -v -i "$include" --xfile "$tests/suite-exceptions.txt") || {
        tail -n 20 "$dir"/tests.*.log
        return 1
    }
    for rank in 0 1 2 3; do
        sed -nE 's/^(test[A-Za-z0-9_]+ \([A-Za-z0-9_.]+\)).* \.\.\. ok$/\1/p' "$dir/tests.$rank.log" | sort -u
    done | sort | uniq -c | awk '$1 == 4 { count++ } END { print count + 0 }' >"$dir/count"
    echo "$(cat "$dir/count") tests pass on all tasks" >&3
    if [ "$(cat "$dir/count")" -lt "$least" ]; then
        echo "fewer than $least pass"
        return 1
    fi
}

# --- Other programs

netpipe() {
    succeeds 120 run -n 2 --shape 2x1 -- "$netpipe" "$@" -n 3 -u 4096 -o "$dir/np.out" &&
        [ "$(wc -l <"$dir/np.out")" -ge 20 ]
}

latency() {
    twice 120 -n 2 --shape 2x1 -- "$mpi/python3" "$tests/osu.py" latency 4096 &&
        says "$dir/first.out" '^4096 +[0-9.]+$'
}

# explained: where the time of a program with a slow rank goes; the path is as long as the program, and the rank is the first cause.
explained() {
    local path makespan
    compile slow_rank || return
    timeout -k 5 60 "$gyre" why exec -n 8 --shape 2x2x2 --json "$dir/why.json" -- "$work/slow_rank" >"$dir/why.out" 2>"$dir/why.err" || return
    says "$dir/why.out" 'Most would be gained, .*: computation of rank 3 halved' || return
    path=$(grep -oE '"critical_path_ps": [0-9]+' "$dir/why.json" | grep -oE '[0-9]+')
    makespan=$(grep -oE '"makespan_ps": [0-9]+' "$dir/why.json" | grep -oE '[0-9]+')
    [ -n "$path" ] && [ "$path" = "$makespan" ]
}

# figure FILE NAME: a whole number of a JSON file.
figure() {
    grep -oE "\"$2\": [0-9]+" "$1" | head -n 1 | grep -oE '[0-9]+$'
}

# recorded SECTION: the trace of a program has its messages, and a replay takes its time within 10 %, also that which is foretold.
recorded() {
    local name replay=() before after
    compile traced || return
    timeout -k 5 120 "$gyre" record --host-slice 60 -n 8 --shape 2x2x2 --json "$dir/record.json" -o "$dir/trace.goal" -- "$work/traced" "$1" \
        >"$dir/record.out" 2>"$dir/record.err" && says "$dir/record.out" "^$1\$" || return
    # The command that it names.
    read -ra replay <<<"$(grep -oE 'run .*--set .*' "$dir/record.err")"
    "$gyre" "${replay[@]}" --json >"$dir/run.json" || return
    for name in messages bytes; do
        [ "$(figure "$dir/record.json" $name)" = "$(figure "$dir/run.json" $name)" ] || return
    done
    before=$(figure "$dir/record.json" makespan_ns)
    after=$(figure "$dir/run.json" makespan_ns)
    echo "$1: $before ns recorded, $after ns replayed" >&3
    [ "$after" = "$(figure "$dir/record.json" replay_makespan_ns)" ] || return
    [ $((after * 10)) -le $((before * 11)) ] && [ $((after * 10)) -ge $((before * 9)) ]
}

# no_trace PATTERN OPTIONS... PROGRAM: no trace is written, for a reason that matches.
no_trace() {
    local status=0
    timeout -k 5 120 "$gyre" record --host-slice 60 -o "$dir/trace.goal" "${@:2}" >"$dir/record.out" 2>"$dir/record.err" || status=$?
    [ "$status" -eq 1 ] && [ ! -e "$dir/trace.goal" ] && says "$dir/record.err" "$1"
}

one_sided_has_no_trace() {
    compile traced && no_trace 'no trace: task [0-7] reads or writes memory of another task' -n 8 --shape 2x2x2 -- "$work/traced" window
}

threads_have_no_trace() {
    compile comm_threads && no_trace 'no trace: task [01] calls MPI from several threads' -n 2 --shape 2x1 -- "$work/comm_threads"
}

other_programs_have_no_trace() {
    no_trace 'no trace: task 0 does not call MPI_Init' -n 2 --shape 2x1 -- /bin/true
}

sum_of_64_tasks() {
    succeeds 120 run -n 64 --shape 4x4x4 -- "$mpi/python3" "$tests/osu.py" allreduce &&
        says "$dir/run.out" '^8 [0-9.]+$'
}

exec 3>&2

if [ ! -x "$mpi/mpicc" ] || [ ! -x "$openmpi/bin/mpicc" ]; then
    echo "no MPICH in .tools/mpi, or no Open MPI in .tools/openmpi; run make mpi" >&2
    exit 2
fi

test_ x6_mpi4py_helloworld_of_8_tasks_repeats helloworld
test_ x6_mpi4py_ringtest_of_8_tasks_repeats ringtest
test_ x6_mpi4py_pingpong_of_8_tasks_repeats pingpong

test_ x6_a_message_of_8_bytes_takes_10_requests_at_most requests_of_a_message

test_ x6_messages_of_every_length_mode_and_order sections p2p -n 4 --shape 2x2 --
test_ x6_messages_of_two_tasks_on_one_node sections p2p -n 2 --shape 2 --map ta -- blocking nonblocking unexpected truncation self
test_ x6_messages_of_16_tasks_on_8_nodes sections p2p -n 16 --shape 2x2x2 -- wildcards order probe vectors
test_ x6_windows_of_every_kind_of_synchronisation sections rma -n 4 --shape 2x2 --
test_ x6_windows_of_16_tasks_on_8_nodes sections rma -n 16 --shape 2x2x2 -- fence accumulates locks tickets
test_ x6_windows_of_two_tasks_repeat windows_repeat
test_ x6_collectives_of_every_kind_type_and_order sections coll -n 4 --shape 2x2 --
test_ x6_collectives_of_16_tasks_on_8_nodes sections coll -n 16 --shape 2x2x2 -- barriers reductions exchanges communicators
test_ x6_64_tasks_on_the_collective_network_end_whole sum_of_64_tasks
test_ x6_collectives_of_5_tasks_on_a_ring sections coll -n 5 --shape 5 -- barriers broadcasts extremes exchanges many_at_once
test_ x6_time_of_mpi_is_the_machines sections time -n 2 --shape 2x1 --

test_ x6_waits_end_with_their_event_and_polls_take_their_own_time sections waits -n 2 --shape 2x1 --
test_ x6_waits_end_with_their_event_in_mpichs_collectives_too mpichs sections waits -n 2 --shape 2x1 --

test_ x6_objects_of_mpi_work objects -n 4 --shape 2x2 --
test_ x6_objects_of_mpi_work_for_6_tasks_on_3_nodes objects -n 6 --shape 3 -- communicators types topologies files

test_ x6_threads_have_collectives_on_communicators_of_their_own repeat comm_threads
test_ x6_x11_barriers_of_threads_wait_for_all_of_them threads_meet
test_ x6_a_profiling_tool_sees_collectives profiled
test_ x6_tasks_of_a_node_share_windows sections node -n 4 --shape 2x1 -- tasks windows
test_ x1_x11_regions_of_openmp_repeat within 10 repeat hybrid regions
test_ x1_x11_a_thread_that_polls_repeats within 10 repeat hybrid progress
MPIR_CVAR_ASYNC_PROGRESS=1 test_ x1_x11_mpichs_progress_thread_repeats within 10 repeat hybrid progress
test_ x11_queues_of_python_wait_in_simulated_time children queues 7
test_ x11_threads_of_python_work children threads '[0, 1, 4, 9, 16]'
test_ x11_processes_of_python_work children processes '[0, 1, 4, 9, 16]'
test_ x11_a_pool_of_python_works children pool '[0, 1, 4, 9, 16]'
test_ x11_a_child_of_python_works children one '(2, 0)'
test_ x11_programs_of_python_work children programs "(b'yx\\n', 3, 'z\\n')"

test_ x6_open_mpi_repeats open_mpi repeat p2p blocking wildcards
test_ x6_open_mpi_sends_messages_of_every_length_and_mode open_mpi sections p2p -n 4 --shape 2x2 -- \
    blocking nonblocking synchronous unexpected order truncation cancel probe vectors
# A clock of Open MPI begins when the process first asks for it: barriers cannot be told by clocks.
test_ x6_open_mpi_has_collectives open_mpi sections coll -n 4 --shape 2x2 -- \
    broadcasts reductions extremes exchanges prefixes communicators many_at_once intercommunicators nonblocking progress
test_ x6_open_mpi_on_16_tasks_and_8_nodes open_mpi sections coll -n 16 --shape 2x2x2 -- extremes
test_ x6_open_mpi_has_windows open_mpi sections rma -n 4 --shape 2x2 -- puts gets fence accumulates locks tickets
test_ x6_open_mpis_time_is_the_machines open_mpi sections time -n 2 --shape 2x1 --
test_ x6_open_mpis_abort_names_its_task open_mpi fails 'task 1.*exit code 7' -- abort
test_ x6_open_mpis_errors_end_the_run open_mpi fails 'task 1.*aborted' -- truncate
test_ x6_open_mpis_deadlocks_are_named open_mpi fails 'deadlock: .* tasks 0, 1, 2, 3;' -- deadlock

test_ x6_a_killed_task_is_named fails 'task 1.*signal: 9' -- kill
test_ x6_a_task_that_divides_by_zero_is_named fails 'task 1.*signal: 8' -- divide
test_ x6_a_task_that_exits_with_status_3_is_named fails 'task 1.*exit status: 3' -- exit
test_ x6_a_task_that_aborts_is_named fails 'task 1.*7' -- abort
slice=1 test_ x6_a_task_that_loops_for_ever_is_named fails 'task 1' --host-limit 4 -- spin
test_ x6_an_error_of_mpi_ends_the_run fails 'task 1' -- truncate
test_ x6_a_deadlock_of_receives_is_named fails 'deadlock: .* tasks 0, 1, 2, 3;' -- deadlock
alone x6_two_jobs_at_once_share_nothing two_jobs rma fence locks tickets
alone x6_a_job_that_is_interrupted_leaves_nothing told_to_end INT
alone x6_a_job_that_is_terminated_leaves_nothing told_to_end TERM
test_ x6_calls_after_the_end_of_mpi_are_told fails 'MPI_Finalize|finaliz' -- late

test_ x2_x6_slow_rank_of_mpi_is_the_first_cause explained
for section in pairs collectives halo farm; do
    test_ "x6_x7_a_trace_of_${section}_replays_within_10_percent" recorded "$section"
done
test_ x6_x7_a_one_sided_program_has_no_trace_and_is_told_why one_sided_has_no_trace
test_ x6_x7_threads_that_call_mpi_have_no_trace threads_have_no_trace
test_ x6_x7_a_program_without_mpi_has_no_trace other_programs_have_no_trace
test_ x6_osu_latency_repeats latency
if [ -x "$netpipe" ]; then
    test_ x6_netpipe_measures netpipe
    test_ x6_netpipe_finds_its_data_whole netpipe -i
else
    skip x6_netpipe_measures "no NetPIPE; make mpi says why"
    skip x6_netpipe_finds_its_data_whole "no NetPIPE; make mpi says why"
fi

if [ "${MPI_SUITE:-}" = all ]; then
    test_ x6_mpi4py_suite modules 1000 . 3600
else
    test_ x6_mpi4py_suite_part modules 353 'test_(p2p_obj|op|comm|status|pack|win|request|threads|util_pool)\.py' 600
fi

wait
passed=$(grep -c ok "$outcomes")
failed=$(grep -c FAILED "$outcomes")
printf '\ntest result: %s. %d passed; %d failed; %d ignored; 0 measured; 0 filtered out; finished in %d.00s\n' \
    "$([ "$failed" -eq 0 ] && echo ok || echo FAILED)" "$passed" "$failed" "$skipped" $((SECONDS - begin))
[ "$failed" -eq 0 ]
