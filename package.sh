#!/usr/bin/env bash
# Makes what is installed on machines without Rust, in target/package:
#
#   ./package.sh            all of these that this machine has the tools for
#   ./package.sh wheel      a wheel, nvdla_vp-VERSION-….whl: `vp`, the package for Python, and what QEMU loads
#   ./package.sh archive    an archive, vp-VERSION-MACHINE.tar.xz: unpack it anywhere, or over /usr/local
#   ./package.sh deb        a Debian package, vp_VERSION_ARCHITECTURE.deb
#   ./package.sh [KIND] --from FOLDER
#                           of programs that were built before, such as target/debug
#   ./package.sh [KIND] --level N
#                           archives pressed with effort N, 0 to 9, in place of 9
#
# Needs a stable Rust toolchain and binutils' `strip`; the wheel Python 3.11, the archive xz, the Debian package dpkg-deb. `libvp.a` is in
# none of them, because it has ten times the size of `libvp.so`: cargo build --release -p vp-c makes it.
set -euo pipefail
cd "$(dirname "$0")"

usage() { sed -n '2,15s/^# \{0,1\}//p' "$0" >&2; exit 2; }
kinds=() from="" level=9
if python3 -c 'import tomllib' 2>/dev/null; then kinds+=(wheel); else echo "no wheel: no Python 3.11" >&2; fi
if command -v xz >/dev/null; then kinds+=(archive); else echo "no archive: no xz" >&2; fi
if command -v dpkg-deb >/dev/null; then kinds+=(deb); fi
case "${1:-}" in wheel | archive | deb) kinds=("$1") && shift ;; esac
while [ $# -ge 2 ]; do
  case $1 in
    --from) from=$2 ;;
    --level) [[ $2 == [0-9] ]] || usage; level=$2 ;;
    *) usage ;;
  esac
  shift 2
done
[ $# -eq 0 ] || usage

target="${CARGO_TARGET_DIR:-target}"
if [ -z "$from" ]; then
  cargo build --release -p vp-bridge -p vp-qemu -p vp-c -p vp-python
  from="$target/release"
fi
built() { # built FILE: where it is; what the tests build lies in deps
  for place in "$from/$1" "$from/deps/$1"; do
    if [ -e "$place" ]; then
      echo "$place"
      return
    fi
  done
  echo "error: there is no $from/$1: cargo build --release -p vp-bridge -p vp-qemu -p vp-c -p vp-python makes it" >&2
  exit 1
}

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
mkdir -p "$target/package"
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# stage FOLDER: all files as they lie below /usr or /usr/local.
stage() {
  local vp plugin shared
  vp=$(built vp)
  plugin=$(built libvp_qemu.so)
  shared=$(built libvp.so)
  local to=$1 share="$1/share" doc="$1/share/doc/vp"
  mkdir -p "$to/bin" "$to/lib" "$to/include" "$share/man/man1" "$share/vp" "$doc"
  mkdir -p "$share/bash-completion/completions" "$share/zsh/vendor-completions" "$share/fish/vendor_completions.d"
  strip -o "$to/bin/vp" "$vp"
  strip -o "$to/lib/libvp_qemu.so" "$plugin"
  strip -o "$to/lib/libvp.so" "$shared"
  cp clients/c/include/vp.h "$to/include/"
  "$vp" man "$share/man/man1"
  "$vp" completions bash >"$share/bash-completion/completions/vp"
  "$vp" completions zsh >"$share/zsh/vendor-completions/_vp"
  "$vp" completions fish >"$share/fish/vendor_completions.d/vp.fish"
  cp -r traces networks studies examples "$share/vp/"
  cp -r README.md ARCHITECTURE.md CHANGELOG.md SECURITY.md LICENSE-APACHE LICENSE-MIT docs "$doc/"
  find "$to" -type d -exec chmod 755 {} +
  find "$to" -type f -exec chmod 644 {} +
  chmod 755 "$to/bin/vp"
}

wheel() {
  clients/python/wheel "$from" "$target/package"
}

archive() {
  local name
  name="vp-$version-$(uname -m)-$(uname -s | tr '[:upper:]' '[:lower:]')"
  stage "$root/$name"
  # The same files make the same archive.
  tar -C "$root" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct 2>/dev/null || echo 0)" \
    -c "$name" | xz "-$level" >"$root/packed"
  mv "$root/packed" "$target/package/$name.tar.xz"
  echo "$target/package/$name.tar.xz"
}

deb() {
  local architecture glibc
  architecture=$(dpkg --print-architecture)
  stage "$root/deb/usr"
  gzip -9n "$root"/deb/usr/share/man/man1/*
  # The oldest C library that has what the programs ask for.
  glibc=$(objdump -T "$root/deb/usr/bin/vp" "$root"/deb/usr/lib/*.so | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
  mkdir "$root/deb/DEBIAN"
  cat >"$root/deb/DEBIAN/control" <<CONTROL
Package: vp
Version: $version
Architecture: $architecture
Maintainer: The vp project <vp@localhost>
Depends: libc6 (>= ${glibc#GLIBC_}), libgcc-s1
Suggests: qemu-system-arm, qemu-system-x86, gtkwave
Section: electronics
Priority: optional
Installed-Size: $(du -sk "$root/deb/usr" | cut -f 1)
Description: virtual platform for NVIDIA's NVDLA
 Transaction-level models of an accelerator and its interfaces, in cycles,
 served over sockets to drivers in QEMU, to RTL simulators, and to programs.
CONTROL
  dpkg-deb --root-owner-group -Zxz "-z$level" --build "$root/deb" "$target/package/vp_${version}_$architecture.deb" >/dev/null
  echo "$target/package/vp_${version}_$architecture.deb"
}

for kind in "${kinds[@]}"; do
  # At level 9 an archive takes half a minute.
  echo "packing: $kind" >&2
  "$kind"
done
