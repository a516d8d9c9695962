#!/usr/bin/env bash
# Runs every test of the project, and installs what they need and the machine lacks.
#
#   ./test.sh            everything
#   ./test.sh rtl        only tests whose name contains "rtl"
#   ./test.sh full       everything, and what takes longer: all of the vendor's layers beside RTL, ten times as many random layers
#   ./test.sh sanitize   some of them under the address and the thread sanitizer of nightly Rust
#
# Random cases are the same each time. Others, and of whole layers fifty times as many:
#   PROPTEST_RNG_SEED=7 VP_TEST_EFFORT=50 ./test.sh
#
# Needs a stable Rust toolchain (1.89 or newer). On Debian and its kin all else is installed; elsewhere it names what is missing. All that
# tests and tools say is in target/test.
set -euo pipefail
cd "$(dirname "$0")"

[ "${1:-}" != sanitize ] || exec tests/sanitizers/run
if [ "${1:-}" = full ]; then
  shift
  export VP_TEST_EFFORT="${VP_TEST_EFFORT:-10}"
fi
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"
# What cargo says is read.
export CARGO_TERM_COLOR=never CARGO_TERM_QUIET=false
debug="${CARGO_TARGET_DIR:-target}/debug" said=target/test
rm -rf "$said"
mkdir -p "$said"
failures=$said/failures
: >"$failures"
passed=0 failed=0 skipped=0 left_out=0 began=$SECONDS groups=()
trap 'for group in "${groups[@]}"; do kill -- "-$group" 2>/dev/null || true; done' EXIT

say() { printf '%3d min %02d s  %s\n' $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)) "$*"; }
count() { # count PASSED FAILED SKIPPED LEFT-OUT
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)) left_out=$((left_out + $4))
}
sum() { # sum FILE WORDS: of all numbers that stand before these words
  grep -oE "[0-9]+ $2" "$1" | awk '{ sum += $1 } END { print sum + 0 }' || true
}
beside() { # beside NAME COMMAND...: in a group of its own, which ends with this script; `group` is it
  local name=$1
  shift
  set -m
  "$@" >"$said/$name" 2>&1 </dev/null &
  set +m
  group=$!
  groups+=("$group")
}
join() { # join GROUP: waits for it; `status` is how it ended
  local at
  status=0
  wait "$1" || status=$?
  for at in "${!groups[@]}"; do
    [ "${groups[$at]}" != "$1" ] || unset "groups[$at]"
  done
}
# Counts a part whose tests are not cargo's in this script, and keeps what it said if it failed. One without numbers has so many.
ended() { # ended NAME STATUS TITLE [TESTS]
  local file=$said/$1 passes failures_said
  grep 'skipped: \|^SKIPPED ' "$file" || true
  passes=$(sum "$file" passed) failures_said=$(($(sum "$file" failed) + $(sum "$file" errors?)))
  [ "$passes" -gt 0 ] || [ "$2" -ne 0 ] || passes=${4:-0}
  [ "$failures_said" -gt 0 ] || [ "$2" -eq 0 ] || failures_said=1
  [ "$2" -ne 0 ] || failures_said=0
  count "$passes" "$failures_said" $(($(grep -c 'skipped: ' "$file" || true) + $(sum "$file" skipped))) "$(sum "$file" ignored)"
  say "$3: $passes passed$([ "$2" -eq 0 ] || echo ", $failures_said FAILED")"
  [ "$2" -eq 0 ] || { echo "$3 ($file has all):" && tail -n 60 "$file" | sed 's/^/    /'; } >>"$failures"
}
finish() { # the failures, and behind them one line
  if [ -s "$failures" ]; then
    printf '\nfailures:\n'
    cat "$failures"
  fi
  local result=ok
  [ "$failed" -eq 0 ] || result=FAILED
  # In the words of libtest, which other programs read.
  printf '\ntest result: %s. %d passed; %d failed; %d ignored; %d skipped; finished in %d min\n' "$result" "$passed" "$failed" "$left_out" "$skipped" \
    $(((SECONDS - began + 30) / 60))
  [ "$failed" -eq 0 ] || exit 1
  [ "$passed" -gt 0 ] || { echo "error: no test has that name" >&2 && exit 1; }
  exit 0
}

command -v cargo >/dev/null 2>&1 || { echo "error: no Rust toolchain: install a stable one (1.89 or newer), with rustup or your distribution's package" >&2; exit 1; }
say "packages, kernels for guests, Python (beside the build; $said/prepared)"
# A password is asked for here, and not by what runs in the background.
if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null 2>&1 && [ -n "$(tests/machine/install lacking)" ]; then sudo -v || true; fi
tests/machine/install linker
beside prepared tests/machine/prepare
preparer=$group

say "building"
if ! cargo test --workspace --no-run; then
  count 0 1 0 0
  echo "the build: its errors stand above" >>"$failures"
  finish
fi
programs=$(cargo test --workspace --no-run 2>&1 | grep -c '^ *Executable ') || true
say "built; waiting for what is got beside it"
join "$preparer"
grep -v '^$\|^WARNING' "$said/prepared" || true
[ "$status" -eq 0 ] || say "not all could be had ($said/prepared)"

say "the package for Python"
status=0
clients/python/tests/run install >"$said/wheel" 2>&1 || status=$?
ended wheel "$status" "its wheel"

say "testing: $programs programs, and documentation"
# Beside them, at the lowest priority, what only computes: tests that wait for other programs leave it time.
if [ $# -eq 0 ]; then
  beside checked tests/checkers/run
  checker=$group
fi
if [ $# -eq 0 ] || [ "$1" = onnx ]; then
  beside onnx nice -n 19 tests/onnx/run
  onnx=$group
fi
awk=(awk)
# It would wait for more than a line.
if awk -W version 2>&1 </dev/null | grep -q mawk; then awk+=(-W interactive); fi
set +e
cargo test --workspace --no-fail-fast -- "$@" 2>&1 | tee "$said/tests" |
  "${awk[@]}" -v programs="$programs" -v failures="$failures" -v counts="$said/counts" -f tests/machine/report.awk
status=("${PIPESTATUS[@]}")
set -e
read -r -a counts <"$said/counts"
if [ "${status[0]}" -ne 0 ] && [ "${counts[1]}" -eq 0 ]; then
  counts[1]=1
  { echo "cargo ended with ${status[0]}:" && tail -n 30 "$said/tests" | sed 's/^/    /'; } >>"$failures"
fi
count "${counts[@]}"

if [ $# -eq 0 ]; then
  # Servers under mixed load, with each party killed now and then, built by the tests, with `vp` beside it.
  say "the soak, two minutes"
  beside soaked "$debug/soak" --seconds 120
  soaker=$group
fi
if [ -e target/python/installed ]; then
  status=0
  clients/python/tests/run "$@" >"$said/python" 2>&1 || status=$?
  ended python "$status" "its tests"
fi
say "waiting for what was begun beside the tests"
if [ -n "${onnx:-}" ]; then
  join "$onnx"
  ended onnx "$status" "ONNX models beside onnxruntime"
fi
if [ $# -eq 0 ]; then
  join "$soaker"
  ended soaked "$status" "the soak" 1
  join "$checker"
  ended checked "$status" "model checker and interpreter"
fi
finish
