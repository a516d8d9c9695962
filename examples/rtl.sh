# What `run` of the examples in RTL and SystemC share; they source it. It takes the options --latency CYCLES and --wave FILE.vcd from the arguments,
# those named in `values`, which have a value, and those in `flags`, which have none.
#
# VP and LIBVP are `vp` and the library for C, if they are there already, and MADE is where simulations are built.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
here=$(cd "$(dirname "$0")" && pwd)

usage() {
  awk 'NR > 1 && /^#/ { sub(/^# ?/, ""); print; next } NR > 1 { exit }' "$0" >&2
  exit 2
}

latency=50 wave='' simulator=verilator
for flag in ${flags:-}; do printf -v "$flag" ''; done
while [[ ${1:-} == --* ]]; do
  case " latency wave ${values:-} | ${flags:-} " in
    *" ${1#--} "*"|"*) [ $# -ge 2 ] || usage; printf -v "${1#--}" %s "$2"; shift ;;
    *"|"*" ${1#--} "*) printf -v "${1#--}" 1 ;;
    *) usage ;;
  esac
  shift
done

[[ $latency =~ ^[1-9][0-9]*$ ]] || { echo "error: --latency $latency: a number of cycles, 1 or more" >&2; exit 2; }

if [ -z "${VP:-}" ] || [ -z "${LIBVP:-}" ]; then
  target=$(cd "$root" && cargo metadata --format-version 1 --no-deps | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
  (cd "$root" && cargo build --release -p vp-bridge -p vp-c)
  VP=$target/release/vp LIBVP=$target/release/libvp.a
fi
export VP LIBVP
made=${MADE:-$(dirname "$VP")/../examples}/$(basename "$here")

simulation() { # simulation TOP PARAMETER=VALUE... FILE...    builds it; `program` is what runs it
  local top=$1 folder=$made options=()
  shift
  case $simulator in
    verilator)
      # A simulation that can write waveforms is slower.
      folder+=${wave:+-wave}
      options=(-Wall -Wno-UNUSED ${wave:+--trace})
      while [[ $1 == *=* ]]; do options+=("-G$1") && shift; done
      "$root/clients/rtl/verilate" "$folder" "$top" "${options[@]}" "$@"
      ;;
    icarus)
      folder+=-icarus
      while [[ $1 == *=* ]]; do options+=("-P$top.$1") && shift; done
      "$root/clients/rtl/icarus" "$folder" "$top" "${options[@]}" "$@"
      ;;
    *)
      echo "error: --simulator $simulator: it is verilator or icarus" >&2
      exit 2
      ;;
  esac
  program=("$folder/$top")
  [ -z "$wave" ] || program+=("+wave=$wave")
}
