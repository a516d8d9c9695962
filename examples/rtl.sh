# What `run` of the examples in RTL share; they source it. It takes the options --latency CYCLES and --wave FILE.vcd, and those
# named in `flags`, from the arguments.
#
# VP and LIBVP are `vp` and the library for C, if they are there already, and MADE is where simulations are built.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
here=$(cd "$(dirname "$0")" && pwd)

usage() {
  awk 'NR > 1 && /^#/ { sub(/^# ?/, ""); print; next } NR > 1 { exit }' "$0" >&2
  exit 2
}

latency=50 wave=
for flag in ${flags:-}; do printf -v "$flag" ''; done
while [[ ${1:-} == --* ]]; do
  case " latency wave | ${flags:-} " in
    *" ${1#--} "*"|"*) [ $# -ge 2 ] || usage; printf -v "${1#--}" %s "$2"; shift ;;
    *"|"*" ${1#--} "*) printf -v "${1#--}" 1 ;;
    *) usage ;;
  esac
  shift
done

if [ -z "${VP:-}" ] || [ -z "${LIBVP:-}" ]; then
  target=$(cd "$root" && cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
  (cd "$root" && cargo build --quiet --release -p vp-bridge -p vp-c)
  VP=$target/release/vp LIBVP=$target/release/libvp.a
fi
export VP LIBVP
made=${MADE:-$(dirname "$VP")/../examples}/$(basename "$here")

simulation() { # simulation TOP FILE-OR-OPTION...    builds it; `program` is what runs it
  local top=$1 folder=$made
  shift
  # A simulation that can write waveforms is slower.
  if [ -n "$wave" ]; then
    set -- --trace "$@"
    folder+=-wave
  fi
  "$root/clients/rtl/verilate" "$folder" "$top" -Wall -Wno-UNUSED "$@"
  program=("$folder/$top")
  [ -z "$wave" ] || program+=("+wave=$wave")
}
