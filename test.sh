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
debug="${CARGO_TARGET_DIR:-target}/debug" said=target/test
rm -rf "$said"
mkdir -p "$said"
failures=$said/failures
: >"$failures"
passed=0 failed=0 skipped=0 began=$SECONDS groups=()
trap 'for group in "${groups[@]}"; do kill -- "-$group" 2>/dev/null || true; done' EXIT

say() { printf '%3d min %02d s  %s\n' $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60)) "$*"; }
count() { # count PASSED FAILED SKIPPED
  passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
}
beside() { # beside NAME COMMAND...: in a group of its own, which ends with this script; $! is it
  local name=$1
  shift
  set -m
  "$@" >"$said/$name" 2>&1 </dev/null &
  set +m
  groups+=("$!")
}
ended() { # ended NAME STATUS TITLE: counts a part that is no cargo test of this script, and keeps what it said if it failed
  local lacks passes failures_said
  lacks=$(grep -c 'skipped: ' "$said/$1") || true
  grep 'skipped: ' "$said/$1" || true
  # libtest and pytest say how many; the soak is one.
  passes=$(grep -oE '[0-9]+ passed' "$said/$1" | awk '{ sum += $1 } END { print sum + 0 }') || true
  failures_said=$(grep -oE '[0-9]+ failed' "$said/$1" | awk '{ sum += $1 } END { print sum + 0 }') || true
  if [ "$2" -eq 0 ]; then
    [ "$passes" -gt 0 ] || passes=1
    count "$passes" 0 "$lacks"
    say "$3: $passes passed"
  else
    [ "$failures_said" -gt 0 ] || failures_said=1
    count "$passes" "$failures_said" "$lacks"
    say "$3: FAILED"
    { echo "$3:" && tail -n 60 "$said/$1" | sed 's/^/    /'; } >>"$failures"
  fi
}
finish() { # the closing lines, failures last but one
  if [ -s "$failures" ]; then
    printf '\nfailures (all that was said is in %s):\n' "$said"
    cat "$failures"
  fi
  printf '\n%d passed, %d failed, %d skipped in %d min\n' "$passed" "$failed" "$skipped" $(((SECONDS - began + 30) / 60))
  [ "$failed" -eq 0 ] || exit 1
  exit 0
}

command -v cargo >/dev/null 2>&1 || { echo "error: no Rust toolchain: install a stable one (1.89 or newer), with rustup or your distribution's package" >&2; exit 1; }
say "packages, kernels for guests, Python (beside the build; $said/prepared)"
# A password is asked for here, and not by what runs in the background.
tests/machine/install linker
[ "$(id -u)" -eq 0 ] || ! command -v sudo >/dev/null 2>&1 || sudo -v || true
beside prepared tests/machine/prepare
preparer=$!

say "building"
if ! cargo test --workspace --no-run 2> >(tee "$said/build" >&2); then
  count 0 1 0
  { echo "the build:" && grep -A 12 '^error' "$said/build" | sed 's/^/    /'; } >>"$failures"
  finish
fi
programs=$(grep -c '^ *Executable ' "$said/build") || true
status=0
wait "$preparer" || status=$?
grep -v '^$' "$said/prepared" || true
[ "$status" -eq 0 ] || say "not all could be had ($said/prepared)"

say "testing: $programs programs, and documentation"
if [ $# -eq 0 ]; then
  beside checked tests/checkers/run
  checker=$!
fi
cargo test --workspace --no-fail-fast -- "$@" 2>&1 | tee "$said/tests" |
  awk -v programs="$programs" -v failures="$said/failed" -v counts="$said/counts" -f tests/machine/report.awk || true
[ ! -e "$said/failed" ] || cat "$said/failed" >>"$failures"
# shellcheck disable=SC2046 # They are three words.
count $(cat "$said/counts")

say "the package for Python"
status=0
clients/python/tests/run install >"$said/wheel" 2>&1 || status=$?
ended wheel "$status" "its wheel"
if [ $# -eq 0 ]; then
  # Servers under mixed load, with each party killed now and then, built by the tests, with `vp` beside it.
  beside soaked "$debug/soak" --seconds 120
  soaker=$!
fi
status=0
clients/python/tests/run "$@" >"$said/python" 2>&1 || status=$?
ended python "$status" "its tests"

if [ $# -eq 0 ]; then
  status=0
  wait "$soaker" || status=$?
  ended soaked "$status" "the soak"
  status=0
  wait "$checker" || status=$?
  ended checked "$status" "model checker and interpreter"
fi
finish
