#!/usr/bin/env bash
# Gets the newest Debian kernel, and for arm64 builds the generic driver uio_pdrv_genirq from the same kernel's source, which
# Debian's configuration leaves out. Needs apt, and for arm64 make and Debian's compiler; installs nothing.
#
#   kernel.sh FOLDER arm64     leaves vmlinuz, uio.ko and uio_pdrv_genirq.ko there
#   kernel.sh FOLDER amd64     leaves vmlinuz, uio.ko and uio_pci_generic.ko there
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
arch=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# apt's own lists are left alone: this machine has perhaps never heard of that architecture.
mkdir -p lists/partial archives/partial root source module
: > status
apt_guest() {
  local command=$1
  shift
  "$command" -q -o Dir::State="$work" -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status" \
    -o Dir::Cache="$work" -o Dir::Cache::Archives="$work/archives" -o APT::Architecture="$arch" \
    -o APT::Architectures="$arch" "$@"
}
apt_guest apt-get update
image=$(apt_guest apt-cache depends "linux-image-$arch" | awk '/Depends: linux-image/ { print $2; exit }')
release=${image#linux-image-}
apt_guest apt-get download "$image"

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
cp root/boot/vmlinuz-"$release" "$folder/vmlinuz"
if [ "$arch" = amd64 ]; then
  module uio_pci_generic
  echo "$release" > "$folder/release"
  exit
fi

series=$(echo "$release" | cut -d. -f1,2)
apt_guest apt-get download "linux-headers-$release"
apt-get -q download "linux-headers-${release%-arm64}-common" "linux-kbuild-$series" "linux-source-$series"

for package in linux-headers-*.deb linux-kbuild-*.deb; do
  dpkg -x "$package" root
done
dpkg -x linux-source-*.deb source
tar -xJf source/usr/src/linux-source-"$series".tar.xz --wildcards --occurrence=1 \
  "linux-source-$series/drivers/uio/uio_pdrv_genirq.c"
cp linux-source-"$series"/drivers/uio/uio_pdrv_genirq.c module/
echo 'obj-m := uio_pdrv_genirq.o' > module/Makefile
headers=root/usr/src/linux-headers-$release
sed -i "s#include /usr/src#include $work/root/usr/src#" "$headers/Makefile"
make -C "$headers" M="$work/module" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- modules

cp module/uio_pdrv_genirq.ko "$folder/"
echo "$release" > "$folder/release"
