#!/usr/bin/env bash
# Gets the newest Debian kernel, and for arm64 builds the generic driver uio_pdrv_genirq from the same kernel's source, which
# Debian's configuration leaves out, and examples/pci-node. Needs apt, and for arm64 make and Debian's compiler; installs nothing.
#
#   kernel.sh FOLDER arm64     leaves vmlinuz, uio.ko, uio_pci_generic.ko, uio_pdrv_genirq.ko and pci_node.ko there
#   kernel.sh FOLDER amd64     leaves vmlinuz, uio.ko, uio_pci_generic.ko and the modules of vfio-pci there
#   kernel.sh FOLDER riscv64   leaves vmlinuz, uio.ko and uio_pci_generic.ko there
#
# The kernel is that of this machine's own release. If that has none for the architecture, as Debian 12 has no riscv64, it is that of
# Debian's stable release, from where this machine has its packages.
set -euo pipefail
example=$(cd "$(dirname "$0")/../../examples/pci-node" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
arch=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Everything comes from one package index, got now: the machine's own may be older than the kernel, and has perhaps never heard of that
# architecture. It is left alone.
mkdir -p lists/partial archives/partial root source module
: > status
# A module is built with programs for this machine.
host=$(dpkg --print-architecture)
index=(-o Dir::State="$work" -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status" -o Dir::Cache="$work"
  -o Dir::Cache::Archives="$work/archives" -o APT::Architecture="$arch" -o APT::Architectures="$host,$arch")
from_index() { # from_index COMMAND ARGUMENTS...: of apt
  local command=$1
  shift
  "$command" -q "${index[@]}" "$@"
}
get_index() {
  # A source that cannot be reached is told of, and may be one that the kernel is not from.
  from_index apt-get update || true
}
has_kernel() {
  from_index apt-cache show "linux-image-$arch:$arch" >/dev/null 2>&1
}

get_index
if ! has_kernel; then
  # shellcheck disable=SC2016 # The variables are apt's.
  debian=$(from_index apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' | awk '$1 == "Debian" && NF == 2 { print $2; exit }')
  if [ -n "$debian" ]; then
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $debian stable main" > stable.list
    index+=(-o Dir::Etc::SourceList="$work/stable.list" -o Dir::Etc::SourceParts=/dev/null)
    get_index
  fi
fi
if ! has_kernel; then
  echo "error: no package source of this machine has Debian's kernel for $arch" >&2
  exit 1
fi
depends() { # depends PACKAGE NAME: the first package that it needs and whose name begins so; in <> if there is none for the architecture
  from_index apt-cache depends "$1:$arch" | awk -v name="^<?$2" '$1 == "Depends:" && $2 ~ name { gsub(/^<|>$|:.*/, "", $2); print $2; exit }'
}
image=$(depends "linux-image-$arch" linux-image-)
release=${image#linux-image-}
version=$(from_index apt-cache show "$image:$arch" | awk '$1 == "Version:" { print $2; exit }')
from_index apt-get download "$image:$arch=$version"

module() { # module NAME: one of Debian's modules, unpacked
  local file
  file=$(find root -name "$1.ko*")
  case $file in
    *.xz) xz -dc "$file" > "$folder/$1.ko" ;;
    *) cp "$file" "$folder/$1.ko" ;;
  esac
}

dpkg -x "$image"_*.deb root
module uio
# Of riscv64 it is not compressed, and has a name that says so.
cp root/boot/vmlinu[xz]-"$release" "$folder/vmlinuz"
[ -z "$(find root -name 'uio_pci_generic.ko*')" ] || module uio_pci_generic
if [ "$arch" != arm64 ]; then
  if [ "$arch" = amd64 ]; then
    # Not each kernel has each of them: some have the one in the other.
    for name in irqbypass vfio_virqfd vfio vfio_iommu_type1 vfio-pci-core vfio-pci; do
      [ -z "$(find root -name "$name.ko*")" ] || module "$name"
    done
  fi
  echo "$release" > "$folder/release"
  exit
fi

series=$(echo "$release" | cut -d. -f1,2)
headers=linux-headers-$release
from_index apt-get download "$headers:$arch=$version" "$(depends "$headers" linux-headers-)=$version" \
  "linux-source-$series=$version"
# Architectures are built one after the other, so this machine's may have the programs of the next or last revision alone.
kbuild=$(depends "$headers" linux-kbuild-):$host
from_index apt-get download "$kbuild=$version" || from_index apt-get download "$kbuild"

for package in linux-headers-*.deb linux-kbuild-*.deb; do
  dpkg -x "$package" root
done
dpkg -x linux-source-*.deb source
tar -xJf source/usr/src/linux-source-"$series".tar.xz --wildcards --occurrence=1 \
  "linux-source-$series/drivers/uio/uio_pdrv_genirq.c"
cp linux-source-"$series"/drivers/uio/uio_pdrv_genirq.c "$example/pci_node.c" module/
echo 'obj-m := uio_pdrv_genirq.o pci_node.o' > module/Makefile
headers=root/usr/src/$headers
sed -i "s#include /usr/src#include $work/root/usr/src#" "$headers/Makefile"
# Without BTF, which would need `pahole`.
make -C "$headers" M="$work/module" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- CONFIG_DEBUG_INFO_BTF_MODULES= modules

cp module/uio_pdrv_genirq.ko module/pci_node.ko "$folder/"
echo "$release" > "$folder/release"
