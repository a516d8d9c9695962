#!/usr/bin/env bash
# Measures the processor time of whole runs of `vp`, and compares it with another `vp`'s.
#
#   runs.sh [VP [OTHER]]
#
#   VP      the program (default: this repository's, built for release)
#   OTHER   a program to compare with: in each round both run each case, and who runs first alternates
#   ROUNDS=5      rounds
#   ONLY=regex    run only cases whose name matches
#   ROWS=dir      the RTL's measurements for `compare-rtl` (default: `shared/nvdla/rtl-golden` beside an ancestor of
#                 this repository). Without them that case is left out, and said so.
#
# Prints the least and the median of user and system time in seconds, of the same rounds for both programs, and the
# ratio VP / OTHER of each. Other load on the machine disturbs the least one least.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
ROUNDS=${ROUNDS:-5} ONLY=${ONLY:-.} ROWS=${ROWS:-}

say() { echo "runs.sh: $*" >&2; }

[[ $ROUNDS =~ ^[1-9][0-9]*$ ]] || { say "ROUNDS is a whole number from 1 on, not \`$ROUNDS\`"; exit 2; }
[[ $# -le 2 ]] || { say "at most two programs: runs.sh [VP [OTHER]]"; exit 2; }
if [[ $# -eq 0 ]]; then
  cargo build -q --release --manifest-path "$root/Cargo.toml" -p vp-bridge --bin vp
  target=$(cd "$root" && cargo metadata --no-deps --format-version 1 |
    sed -E 's/.*"target_directory":"([^"]*)".*/\1/')
  set -- "$target/release/vp"
fi
programs=()
for program in "$@"; do
  found=$(type -P -- "$program") || { say "no program $program"; exit 2; }
  programs+=("$(realpath -- "$found")")
done

if [[ -z $ROWS ]]; then
  above=$root
  while [[ $above != / ]]; do
    above=$(dirname "$above")
    if [[ -d $above/shared/nvdla/rtl-golden ]]; then ROWS=$above/shared/nvdla/rtl-golden; break; fi
  done
elif [[ ! -d $ROWS ]]; then
  say "no directory $ROWS"
  exit 2
else
  ROWS=$(realpath -- "$ROWS")
fi

arguments() { # of a case, one a line
  case $1 in
    small) printf '%s\n' run resnet50 --timed --platform nv_small ;;
    large) printf '%s\n' run resnet50 --timed --platform nv_large ;;
    demo) printf '%s\n' demo ;;
    rtl) printf '%s\n' compare-rtl "$ROWS" ;;
  esac
}

cases=()
for name in small large demo rtl; do
  [[ $name =~ $ONLY ]] || continue
  if [[ $name == rtl && -z $ROWS ]]; then
    say "rtl is left out: no measurements found (ROWS=directory)"
    continue
  fi
  cases+=("$name")
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # whatever a run writes

measure() { # case, number of the program
  local given
  mapfile -t given < <(arguments "$1")
  local TIMEFORMAT='%3U %3S'
  { time "${programs[$2]}" "${given[@]}" >/dev/null 2>"$work/stderr" </dev/null; } 2>"$work/time" || {
    say "${programs[$2]} ${given[*]} failed: $(tail -n 1 "$work/stderr")"
    exit 1
  }
  awk '{ print $1 + $2 }' "$work/time" >>"$work/$1.$2"
}

for ((round = 0; round < ROUNDS; round++)); do
  for name in "${cases[@]}"; do
    for ((turn = 0; turn < ${#programs[@]}; turn++)); do
      measure "$name" $(((turn + round) % ${#programs[@]}))
    done
  done
  say "round $((round + 1)) of $ROUNDS done"
done

summary() { # least and median of a file with a number a line
  sort -n "$1" | awk '{ x[NR] = $1 }
    END { printf "%.3f %.3f\n", x[1], NR % 2 ? x[(NR + 1) / 2] : (x[NR / 2] + x[NR / 2 + 1]) / 2 }'
}

titles=(vp other)
for number in "${!programs[@]}"; do echo "${titles[$number]} is ${programs[$number]}"; done
printf '%-6s' case
for number in "${!programs[@]}"; do printf ' %11s %7s' "${titles[$number]} least" median; done
if [[ ${#programs[@]} -eq 2 ]]; then printf ' %11s %7s' 'ratio least' median; fi
printf '\n'
for name in "${cases[@]}"; do
  printf '%-6s' "$name"
  figures=()
  for number in "${!programs[@]}"; do
    read -ra both < <(summary "$work/$name.$number")
    printf ' %11s %7s' "${both[@]}"
    figures+=("${both[@]}")
  done
  if [[ ${#programs[@]} -eq 2 ]]; then
    awk -v a="${figures[*]}" 'BEGIN { split(a, x, " "); printf " %11.2f %7.2f", x[1] / x[3], x[2] / x[4] }'
  fi
  printf '\n'
done
