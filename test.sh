#!/usr/bin/env bash
# Runs every test of the project, and installs what they need and the machine lacks.
#
#   ./test.sh            everything
#   ./test.sh rtl        only tests whose name contains "rtl"
#   ./test.sh full       everything, and what takes longer: all of the vendor's layers beside RTL, ten times as many random layers
#   ./test.sh sanitize   under the address and the thread sanitizer of nightly Rust: unit tests of shared memory, transports, clients, the
#                        kernel (its other tests, too) and the server; under the first also QEMU's device, recordings, and of the models
#                        vectorised arithmetic and loadables
#
# Random cases are the same each time. Others, and of whole layers fifty times as many:
#   PROPTEST_RNG_SEED=7 VP_TEST_EFFORT=50 ./test.sh
#
# Needs a stable Rust toolchain (1.89 or newer). On Debian and its kin the C linker that Rust uses is
# installed by its package name if it is missing; elsewhere install it yourself.
set -euo pipefail
cd "$(dirname "$0")"

root=""
[ "$(id -u)" -eq 0 ] || root=sudo

install() { # install PACKAGES...: of Debian, by name
  [ $# -gt 0 ] || return 0
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "this is no Debian; install with your package manager what Debian calls: $*" >&2
    return 1
  fi
  local package get="$root env DEBIAN_FRONTEND=noninteractive apt-get"
  $get update -q
  $get install -y -q --no-install-recommends "$@" && return
  # One by one, so that one that is missing does not stop the others.
  for package in "$@"; do
    $get install -y -q --no-install-recommends "$package" || echo "the package $package cannot be had" >&2
  done
}

packages=()
want() { # want FILE-OR-COMMAND PACKAGE: what only some tests need; they are skipped without
  [ -e "$1" ] || command -v "$1" >/dev/null 2>&1 || packages+=("$2")
}

if ! command -v cc >/dev/null 2>&1; then
  install gcc && command -v cc >/dev/null 2>&1 || { echo "error: no C linker (\`cc\`)" >&2; exit 1; }
fi
if ! command -v cargo >/dev/null 2>&1; then
  echo "error: no Rust toolchain: install a stable one (1.89 or newer), with rustup or your distribution's package" >&2
  exit 1
fi

# The thread sanitizer must see the standard library's locks, and so takes its sources (rustup's component rust-src).
sanitize() { # sanitize SANITIZER CARGO-ARGUMENTS...
  local sanitizer=$1 host std=""
  shift
  host=$(rustc +nightly -vV | sed -n 's/^host: //p')
  [ ! -e "$(rustc +nightly --print sysroot)/lib/rustlib/src/rust/library" ] || std=-Zbuild-std
  if [ -z "$std" ] && [ "$sanitizer" = thread ]; then
    echo "skipped: $* under the thread sanitizer: no rust-src (rustup component add --toolchain nightly rust-src)"
    return
  fi
  TSAN_OPTIONS="suppressions=$PWD/tests/sanitizers/thread.supp" \
    RUSTFLAGS="-Zsanitizer=$sanitizer" cargo +nightly test $std --target "$host" --target-dir "target/sanitize-$sanitizer" --quiet "$@"
}
if [ "${1:-}" = sanitize ]; then
  export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"
  status=0
  for sanitizer in address thread; do
    sanitize "$sanitizer" -p vp-shm -p vp-transport -p vp-client --features vp-transport/tls --lib || status=$?
    sanitize "$sanitizer" -p vp-core --lib --test kernel || status=$?
    sanitize "$sanitizer" -p vp-server --lib || status=$?
  done
  # Unsafe code without threads of its own, or whose threads are those of the crates above.
  sanitize address -p vp-qemu -p vp-c --lib || status=$?
  sanitize address -p vp-recordings --lib --test recordings || status=$?
  # Arithmetic in vector instructions, those who have their loops compiled for them (`nvdla::vector`), and the reader of flatbuffers.
  sanitize address -p vp-models --lib -- conv::compute conv::cacc sdp::compute host::loadable || status=$?
  exit "$status"
fi

# SystemC, whose orders the kernel is held to.
want g++ g++
want /usr/include/systemc libsystemc-dev

# Simulators of RTL, for designs beside a platform.
want verilator verilator
want iverilog iverilog
# What looks at waveforms and timelines: a viewer, and Perfetto's own classes in Python; SystemRDL's compiler, for the register map.
want gtkwave gtkwave
want xvfb-run xvfb
want python3 python3
python3 -c 'import ensurepip' 2>/dev/null || want ensurepip python3-venv

# A distribution's QEMU, compilers for what runs in it, and Debian's kernel with one more of its drivers.
want qemu-system-aarch64 qemu-system-arm
want aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
want /usr/aarch64-linux-gnu/lib/libc.a libc6-dev-arm64-cross
want qemu-system-x86_64 qemu-system-x86
want x86_64-linux-gnu-gcc gcc-x86-64-linux-gnu
[ -e /usr/lib/x86_64-linux-gnu/libc.a ] || want /usr/x86_64-linux-gnu/lib/libc.a libc6-dev-amd64-cross
# Debian 12 has it in one package with the processors that are seldom used.
if apt-cache show qemu-system-riscv >/dev/null 2>&1; then
  want qemu-system-riscv64 qemu-system-riscv
else
  want qemu-system-riscv64 qemu-system-misc
fi
want riscv64-linux-gnu-gcc gcc-riscv64-linux-gnu
want /usr/riscv64-linux-gnu/lib/libc.a libc6-dev-riscv64-cross
want make make
want cpio cpio
want xz xz-utils

# A browser, for the reports of studies, and a cluster of one node for their job arrays.
want chromium chromium
want /usr/share/fonts/truetype/dejavu/DejaVuSans.ttf fonts-dejavu-core
want /usr/sbin/munged munge
want sbatch slurm-client
want /usr/sbin/slurmctld slurmctld
want /usr/sbin/slurmd slurmd

if [ "${1:-}" = full ]; then
  shift
  export VP_TEST_EFFORT="${VP_TEST_EFFORT:-10}"
fi

# What is skipped, for want of the vendor's conformance data, of SystemC or of QEMU, is said line by line, and counted.
export PROPTEST_RNG_SEED="${PROPTEST_RNG_SEED:-1}"
log=$(mktemp)
checked=$(mktemp)
soaked=$(mktemp)
prepared=$(mktemp)
unready=$(mktemp)
preparer="" checker="" soaker=""
trap 'rm -f "$log" "$checked" "$soaked" "$prepared" "$unready"; for group in $preparer $checker $soaker; do kill -- "-$group" 2>/dev/null || true; done' EXIT
status=0

# Runs a command beside the rest, with all that it starts in one group, which ends with this script.
beside() { # beside COMMAND...; $! is the group
  set -m
  "$@" &
  set +m
}

miri() { cargo +nightly miri "$@"; }
# What checks parts of the code in other ways than running it, each on one processor for minutes.
check() {
  local status=0
  renice -n 19 -p "$BASHPID" >/dev/null 2>&1 || true
  # The register ring in all orders of its two ends' steps, in the model checker loom.
  RUSTFLAGS="--cfg loom" cargo test --quiet -p vp-shm --release --lib --target-dir target/loom -- ring::model || status=$?
  # The kernel's unsafe code, under the interpreter that finds undefined behaviour: a part of nightly Rust.
  if command -v rustup >/dev/null 2>&1 && rustup toolchain list | grep -q '^nightly'; then
    miri --version >/dev/null 2>&1 || rustup component add --toolchain nightly miri rust-src || true
  fi
  if miri --version >/dev/null 2>&1; then
    export PROPTEST_CASES=1 MIRIFLAGS=-Zmiri-disable-isolation
    miri test --quiet -p vp-core --lib -- body fifo semaphore signal || status=$?
    # What drops processes while they run: seconds of interpreter a test. Of the many delta cycles of `livelock` it would see nothing new, and take minutes.
    local kernel="destructors"
    [ "${VP_TEST_EFFORT:-1}" -le 1 ] || kernel+=" combine life methods processes reference"
    miri test --quiet -p vp-core --test kernel -- $kernel --skip livelock || status=$?
  else
    echo "skipped: the kernel under Miri: no nightly toolchain with that component (rustup toolchain install nightly -c miri -c rust-src)"
  fi
  return "$status"
}

guest_kernel() { # guest_kernel FOLDER ARCHITECTURE SIZE
  [ ! -e "$1/release" ] || return 0
  echo "getting Debian's $2 kernel for the guests of QEMU, about $3"
  qemu-glue/guest/kernel.sh "$1" "$2" >"$1.log" 2>&1 || echo "it cannot be had: $1.log says why"
}
# The environment for the package for Python. Without one, the file tells why.
python_environment() {
  local home=target/python
  local requirements=('maturin>=1.9.4,<2' wheel numpy pytest mypy pandas pandas-stubs matplotlib nbclient ipykernel 'cocotb>=2,<3' cocotbext-axi)
  if ! command -v python3 >/dev/null 2>&1 || ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "no Python 3.11" >"$unready"
  elif [ "$(cat "$home/ready" 2>/dev/null)" != "${requirements[*]}" ]; then
    { rm -rf "$home" && python3 -m venv "$home" && "$home/bin/pip" install --quiet "${requirements[@]}" && echo "${requirements[*]}" >"$home/ready"; } ||
      echo "no package index" >"$unready"
  fi
  # cocotb takes the interpreter as a library.
  [ ! -e "$home/ready" ] || "$home/bin/python" -m find_libpython | grep -q . || install libpython3-dev || true
}
# What tests need that this machine lacks: got while they are built.
prepare() {
  # Nobody could be asked for a password.
  local root="${root:+$root -n}"
  install "${packages[@]}" || true
  if [ ! -x target/perfetto/bin/python3 ] && command -v python3 >/dev/null 2>&1; then
    { python3 -m venv target/perfetto && target/perfetto/bin/pip install --quiet perfetto systemrdl-compiler; } || rm -rf target/perfetto
  fi
  guest_kernel target/guest-kernel arm64 "220 MB"
  guest_kernel target/guest-kernel-amd64 amd64 "70 MB"
  guest_kernel target/guest-kernel-riscv64 riscv64 "110 MB"
  python_environment
}
mkdir -p target
# A password is asked for here, and not by what runs in the background.
[ ${#packages[@]} -eq 0 ] || [ -z "$root" ] || sudo -v || true
beside prepare >"$prepared" 2>&1 </dev/null
preparer=$!

cargo test --workspace --quiet --no-run || status=$?
wait "$preparer" || true
preparer=""
cat "$prepared"
if [ $# -eq 0 ]; then
  # Beside the tests, many of which use one processor only; what it says follows theirs.
  beside check >"$checked" 2>&1
  checker=$!
fi
cargo test --workspace --quiet --no-fail-fast -- "$@" 2>&1 | tee "$log" || status=$?
# A wheel for Python. If all is asked for maturin builds it, as users do, and compiles all libraries again with other features. Else
# maturin only describes it, and the extension in it is the one that cargo has built beside the tests of the workspace.
wheel() { # wheel PROGRAMS FOLDER
  local package="$2/package"
  rm -rf "$2"
  if [ "${VP_TEST_EFFORT:-1}" -gt 1 ]; then
    "$1/maturin" build --quiet --profile dev -m clients/python/Cargo.toml --out "$2"
    return
  fi
  mkdir -p "$package"
  "$1/maturin" pep517 write-dist-info -m clients/python/Cargo.toml --profile dev --metadata-directory "$package" >"$package.log" 2>&1 || { cat "$package.log"; return 1; }
  cp -r clients/python/python/vp "$package/" || return
  cp "${CARGO_TARGET_DIR:-target}/debug/deps/libvp_native.so" "$package/vp/_native.abi3.so" || return
  "$1/python" -m wheel pack "$package" --dest-dir "$2" >"$package.log" || { cat "$package.log"; return 1; }
}
# The package for Python, in an environment of its own.
python_package() {
  local home=target/python out=target/wheels
  rm -f "$home/installed"
  if [ ! -e "$home/ready" ]; then
    echo "skipped: the package for Python: $(cat "$unready")"
    return
  fi
  wheel "$home/bin" "$out" && "$home/bin/pip" install --quiet --no-deps --force-reinstall "$out"/nvdla_vp-*.whl && touch "$home/installed"
}
python_tests() {
  local home=target/python
  [ -e "$home/installed" ] || return 0
  (cd clients/python && "../../$home/bin/python" -m mypy python/vp tests ../../examples/python ../../examples/cocotb) || return
  # 5: none of the tests has that name.
  "$home/bin/python" -m pytest --quiet -p no:cacheprovider clients/python/tests -k "${*:-test}" || [ $? -eq 5 ]
}
python_package 2>&1 | tee -a "$log" || status=$?
if [ $# -eq 0 ]; then
  # Servers under mixed load, with each party killed now and then: it runs for as long as `--seconds` says. Built by the tests, with `vp`
  # beside it.
  beside "${CARGO_TARGET_DIR:-target}/debug/soak" --seconds 120 >"$soaked" 2>&1
  soaker=$!
fi
python_tests "$@" 2>&1 | tee -a "$log" || status=$?
if [ -n "$soaker" ]; then
  wait "$soaker" || status=$?
  soaker=""
  tee -a "$log" <"$soaked"
fi
skipped=$(grep -c 'skipped: .*: no conformance data' "$log" || true)
if [ "$skipped" -gt 0 ]; then
  echo "$skipped skipped: the vendor's conformance data is not here (a folder \`shared\` beside the project, or VP_SHARED)"
fi
skipped=$(grep -c 'skipped: .*SystemC' "$log" || true)
if [ "$skipped" -gt 0 ]; then
  echo "$skipped skipped: SystemC 2.3.4 and g++ are not here (Debian: apt-get install g++ libsystemc-dev)"
fi
skipped=$(grep -c 'skipped: .*QEMU\|skipped: .*qemu-system-arm' "$log" || true)
if [ "$skipped" -gt 0 ]; then
  echo "$skipped skipped: QEMU, what its guests are built with, or Debian's kernel is not here"
fi
for missing in Chromium Slurm Verilator "Icarus Verilog" gtkwave xvfb-run "Python with perfetto" "Python with systemrdl" trace_processor_shell libvp_qemu.so "Python 3.11" "package index" "package for Python" "C compiler" libvp.a; do
  skipped=$(grep -c "skipped: .*no $missing" "$log" || true)
  [ "$skipped" -eq 0 ] || echo "$skipped skipped: $missing is not here"
done

if [ -n "$checker" ]; then
  wait "$checker" || status=$?
  checker=""
  cat "$checked"
fi
exit "$status"
