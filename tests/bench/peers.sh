#!/usr/bin/env bash
# Measures this project's kernel beside its peers, interleaved, and prints one line a case,
# `peer case value unit`, then a table of all cases.
#
#   peers.sh [PEERS]
#
#   PEERS   directory of the peers' sources (default: $PEERS, else `shared/bench-peers` beside an ancestor
#           of this repository). Without it only this project is measured.
#   RUNS=5        rounds; all cases of all peers run once in each
#   ONLY=regex    run only lines whose "peer case" matches (this project's peer name is `vp`)
#   DIV=1         divide the work of every case by this (smoke test: DIV=50 RUNS=1)
#   BUILD=dir     where the peers are built and raw results are kept
#
# Needs cargo; for SystemC g++ and libsystemc-dev (Debian: apt-get install libsystemc-dev g++).
# A peer that cannot be built is left out, and said so. Rates are per second of CPU time. The lines give
# medians over the rounds; the table gives the best of each, which other load disturbs least.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
RUNS=${RUNS:-5} ONLY=${ONLY:-.} DIV=${DIV:-1}
BUILD=${BUILD:-${TMPDIR:-/tmp}/vp-bench-peers}
PEERS=${1:-${PEERS:-}}
export SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1

say() { echo "peers.sh: $*" >&2; }

for number in "$RUNS" "$DIV"; do
  [[ $number =~ ^[1-9][0-9]*$ ]] || { say "RUNS and DIV are whole numbers from 1 on, not \`$number\`"; exit 2; }
done

if [[ -n $PEERS ]]; then
  [[ -d $PEERS ]] || { say "no directory $PEERS: give the one that holds the peers' rust/ and systemc/"; exit 2; }
  PEERS=$(cd "$PEERS" && pwd)
else
  above=$root
  while [[ $above != / ]]; do
    above=$(dirname "$above")
    if [[ -d $above/shared/bench-peers ]]; then PEERS=$above/shared/bench-peers; break; fi
  done
fi

mkdir -p "$BUILD"
declare -A program # by peer

# ------------------------------------------------------------------------------------------------ build
target=$(cd "$root" && cargo metadata --no-deps --format-version 1 |
  sed -E 's/.*"target_directory":"([^"]*)".*/\1/')
cargo build -q --manifest-path "$root/Cargo.toml" --profile bench-peers -p vp-tests --bin bench-kernel
program[vp]=$target/bench-peers/bench-kernel

if [[ -z $PEERS ]]; then
  say "no peers' sources found (PEERS=directory): measuring this project alone"
else
  source=$PEERS/systemc/bench_systemc.cpp
  systemc=$BUILD/bench_systemc
  if [[ ! -f $source ]]; then
    say "skipping systemc: no $source"
  elif ! command -v g++ >/dev/null || ! echo '#include <systemc>' | g++ -std=c++17 -fsyntax-only -x c++ - 2>/dev/null; then
    say "skipping systemc: g++ or the library is missing; apt-get install libsystemc-dev g++"
  elif [[ $source -nt $systemc ]] && ! g++ -O3 -std=c++17 -DNDEBUG -o "$systemc" "$source" -lsystemc; then
    say "skipping systemc: it does not build"
  else
    program[systemc]=$systemc
  fi
  if [[ -f $PEERS/rust/Cargo.toml ]]; then
    # Seen from here, so that nothing is written beside the sources.
    mkdir -p "$BUILD/rust"
    ln -sfn "$PEERS/rust/Cargo.toml" "$BUILD/rust/Cargo.toml"
    ln -sfn "$PEERS/rust/src" "$BUILD/rust/src"
    if CARGO_TARGET_DIR=$BUILD/target cargo build --release -q --manifest-path "$BUILD/rust/Cargo.toml"; then
      program[nexosim]=$BUILD/target/release/nexosim
      program[odem-rs]=$BUILD/target/release/odem
      program[limit]=$BUILD/target/release/limit
    else
      say "skipping nexosim, odem-rs and the limits: they do not build"
    fi
  else
    say "skipping nexosim, odem-rs and the limits: no $PEERS/rust/Cargo.toml"
  fi
fi

# ------------------------------------------------------------------------------------------------ cases
# label | peer: the peer's own name of the case, N, P | ...
# One line is one comparison, run back to back. `limit` is the bare loop for the same work; where there are
# several, the fastest is the floor. SystemC has at most about 32 000 threads.
cases() {
  cat <<'T'
timed-method         | vp: timed-method 40000000 1          | systemc: timed-method 15000000 1              | nexosim: timed 3000000 1                   | limit: timed 200000000 1
timed-thread         | vp: timed-thread 40000000 1          | systemc: timed-thread 10000000 1              | odem-rs: timed 40000000 1                  | limit: timed 200000000 1
timers-method/100    | vp: timers-method 10000000 100       | systemc: timers-method 6000000 100            | nexosim: timers 2000000 100                | limit: timers 20000000 100         | limit: timers-wheel 40000000 100
timers-method/10000  | vp: timers-method 10000000 10000     | systemc: timers-method 3000000 10000          | nexosim: timers 600000 10000               | limit: timers 15000000 10000       | limit: timers-wheel 100000000 10000
timers-method/100000 | vp: timers-method 6000000 100000     | systemc: timers-method 2000000 100000         | nexosim: timers 500000 100000              | limit: timers 8000000 100000       | limit: timers-wheel 40000000 100000
timers-thread/100    | vp: timers-thread 10000000 100       | systemc: timers-thread 5000000 100            | odem-rs: timers 8000000 100                | limit: timers 20000000 100         | limit: timers-wheel 40000000 100
timers-thread/10000  | vp: timers-thread 10000000 10000     | systemc: timers-thread 2000000 10000          | odem-rs: timers 3000000 10000              | limit: timers 15000000 10000       | limit: timers-wheel 100000000 10000
timers-thread/100000 | vp: timers-thread 6000000 100000     | odem-rs: timers 2000000 100000                | limit: timers 8000000 100000               | limit: timers-wheel 40000000 100000
sparse-method/10000  | vp: sparse-method 8000000 10000      | systemc: timers-sparse-method 3000000 10000   | nexosim: timers-sparse 600000 10000        | limit: timers-sparse 15000000 10000
sparse-method/100000 | vp: sparse-method 5000000 100000     | systemc: timers-sparse-method 2000000 100000  | nexosim: timers-sparse 500000 100000       | limit: timers-sparse 8000000 100000
sparse-thread/10000  | vp: sparse-thread 8000000 10000      | odem-rs: timers-sparse 3000000 10000          | limit: timers-sparse 15000000 10000
sparse-thread/100000 | vp: sparse-thread 5000000 100000     | odem-rs: timers-sparse 2000000 100000         | limit: timers-sparse 8000000 100000
pingpong-method      | vp: pingpong-method 40000000 1       | systemc: pingpong-method 40000000 1           | nexosim: pingpong 8000000 1                | limit: call 300000000 100
pingpong-thread      | vp: pingpong-thread 40000000 1       | systemc: pingpong-thread 12000000 1           | odem-rs: pingpong 15000000 1               | limit: switch-stackless 300000000 1
fifo16               | vp: fifo16 50000000 1                | systemc: fifo16 40000000 1                    | nexosim: fifo16 8000000 1                  | odem-rs: fifo16 25000000 1         | limit: fifo16 150000000 1
fifo1                | vp: fifo1 20000000 1                 | systemc: fifo1 8000000 1                      | nexosim: fifo1 4000000 1                   | odem-rs: fifo1 10000000 1
clocked              | vp: clocked 1000000 100              | systemc: clocked 800000 100                   | nexosim: clocked 60000 100                 | odem-rs: clocked 120000 100        | limit: clocked 6000000 100
clocked-reg          | vp: clocked-reg 600000 100           | systemc: clocked-reg 400000 100               | limit: clocked-reg 3000000 100
spawn/1              | vp: spawn 8000000 1                  | systemc: spawn 100000 1                       | odem-rs: spawn 8000000 1                   | limit: spawn 50000000 1
spawn/10000          | vp: spawn 5000000 10000              | systemc: spawn 50000 10000                    | odem-rs: spawn 5000000 10000               | limit: spawn 50000000 1
endall/10000         | vp: endall 1 10000                   | systemc: endall 1 10000                       | odem-rs: endall 1 10000
memory-method        | vp: memory-method 1 100000           | systemc: memory-method 2000000000 100000      | nexosim: memory 2000000000 100000
memory-thread        | vp: memory-thread 1 100000           | systemc: memory-thread 2000000000 30000       | odem-rs: memory 2000000000 100000
memory-event         | vp: memory-event 1 100000            | systemc: memory-event 2000000000 100000       | nexosim: memory-event 2000000000 100000
memory-notification  | vp: memory-notification 1 100000
T
}

# Fewer units for a smoke test, but enough that every process runs.
divided() { # case n p
  local n=$2 least=$((3 * $3))
  case $1 in memory*) ;; *) ((least > n)) && least=$n; n=$((n / DIV > least ? n / DIV : least)) ;; esac
  echo "$n"
}

# -------------------------------------------------------------------------------------------------- run
raw=$BUILD/raw.txt
: >"$raw"
run() { # label peer case n p
  local out
  if ! out=$("${program[$2]}" "$3" "$(divided "$3" "$4" "$5")" "$5" 2>"$BUILD/stderr.txt" </dev/null); then
    say "$2 $1 failed: $(tail -n 1 "$BUILD/stderr.txt")"
    echo "$2 $1 FAIL 0 0" >>"$raw"
    return
  fi
  awk -v peer="$2" -v label="$1" -v p="$5" '
    $1 == "RESULT" { print peer, label, "RATE", ($5 > 0 ? $3 / $5 / 1e6 : 0), $6 / 1024, $7 }
    $1 == "ELAB"   { print peer, label, "ELAB", $3 * 1e6 / p, 0 }
    $1 == "BYTES"  { print peer, label, "BYTES", $3, 0 }' <<<"$out" >>"$raw"
}

for ((round = 1; round <= RUNS; round++)); do
  while IFS='|' read -r label entries; do
    label=${label// /}
    IFS='|' read -ra entries <<<"$entries"
    for entry in "${entries[@]}"; do
      read -r peer name n p <<<"$entry"
      peer=${peer%:}
      [[ -n ${program[$peer]:-} && "$peer $label" =~ $ONLY ]] || continue
      run "$label" "$peer" "$name" "$n" "$p"
    done
  done < <(cases)
  say "round $round of $RUNS done"
done

# ---------------------------------------------------------------------------------------------- results
awk '
  function sorted(key, count,   i, j, t) {
    for (i = 1; i <= count; i++) x[i] = value[key, i] + 0
    for (i = 2; i <= count; i++) {
      t = x[i]
      for (j = i - 1; j > 0 && x[j] > t; j--) x[j + 1] = x[j]
      x[j + 1] = t
    }
  }
  function median(count) { return count % 2 ? x[(count + 1) / 2] : (x[count / 2] + x[count / 2 + 1]) / 2 }
  function ns(rate) { return rate > 0 ? sprintf("%.1f", 1e3 / rate) : "-" }
  function ratio(over, under) { return over > 0 && under > 0 ? sprintf("%.2f", over / under) : "-" }
  {
    key = $1 " " $2 " " $3
    if (!(key in count)) order[++keys] = key
    value[key, ++count[key]] = $4
    rss[key] = rss[key] > $5 ? rss[key] : $5
    if (!($2 in known)) { known[$2] = 1; label[++labels] = $2 }
  }
  END {
    for (i = 1; i <= keys; i++) {
      key = order[i]; split(key, field, " "); peer = field[1]; name = field[2]; kind = field[3]
      sorted(key, count[key]); least = x[1]; most = x[count[key]]; middle = median(count[key])
      if (kind == "RATE") {
        printf "%s %s %.4g M/s\n%s %s.rss %.1f MiB\n", peer, name, middle, peer, name, rss[key]
        if (peer == "vp") ours[name] = most
        else if (peer == "limit") { if (most > floor[name]) floor[name] = most }
        else if (most > best[name]) { best[name] = most; who[name] = peer }
      } else if (kind == "ELAB") {
        printf "%s %s.elab %.3g us/process\n", peer, name, middle
      } else if (kind == "BYTES") {
        printf "%s %s.bytes %.0f B/process\n", peer, name, middle
        memory[name] = 1
        if (peer == "vp") ours_bytes[name] = least
        else if (!(name in best_bytes) || least < best_bytes[name]) { best_bytes[name] = least; who[name] = peer }
      } else printf "%s %s FAIL -\n", peer, name
    }
    print "\nNanoseconds of CPU time each, best run. faster: best peer / vp; above floor: vp / floor.\n"
    printf "%-22s %-10s %10s %8s %9s %8s %12s\n", "case", "best peer", "ns", "floor", "vp", "faster", "above floor"
    for (i = 1; i <= labels; i++) {
      name = label[i]
      if (name in memory) continue
      printf "%-22s %-10s %10s %8s %9s %8s %12s\n", name, (name in who ? who[name] : "-"), ns(best[name]), \
        ns(floor[name]), ns(ours[name]), ratio(ours[name], best[name]), ratio(floor[name], ours[name])
    }
    print "\nBytes each, least run. smaller: best peer / vp.\n"
    printf "%-22s %-10s %10s %8s %9s %8s\n", "case", "best peer", "bytes", "", "vp", "smaller"
    for (i = 1; i <= labels; i++) {
      name = label[i]
      if (!(name in memory)) continue
      printf "%-22s %-10s %10s %8s %9s %8s\n", name, (name in who ? who[name] : "-"), \
        (name in best_bytes ? sprintf("%.0f", best_bytes[name]) : "-"), "", \
        (name in ours_bytes ? sprintf("%.0f", ours_bytes[name]) : "-"), ratio(best_bytes[name], ours_bytes[name])
    }
  }' "$raw"
