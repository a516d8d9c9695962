#!/usr/bin/env bash
# Gets the newest Debian kernel for arm64, and builds the generic driver uio_pdrv_genirq from the same kernel's source, which
# Debian's configuration leaves out. Needs apt, make and Debian's compiler for arm64; installs nothing.
#
#   kernel.sh FOLDER     leaves vmlinuz, uio.ko and uio_pdrv_genirq.ko there
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# apt's own lists are left alone: this machine has perhaps never heard of arm64.
mkdir -p lists/partial archives/partial root source module
: > status
apt_arm64() {
  local command=$1
  shift
  "$command" -q -o Dir::State="$work" -o Dir::State::Lists="$work/lists" -o Dir::State::status="$work/status" \
    -o Dir::Cache="$work" -o Dir::Cache::Archives="$work/archives" -o APT::Architecture=arm64 \
    -o APT::Architectures=arm64 "$@"
}
apt_arm64 apt-get update
image=$(apt_arm64 apt-cache depends linux-image-arm64 | awk '/Depends: linux-image/ { print $2; exit }')
release=${image#linux-image-}
series=$(echo "$release" | cut -d. -f1,2)
apt_arm64 apt-get download "$image" "linux-headers-$release"
apt-get -q download "linux-headers-${release%-arm64}-common" "linux-kbuild-$series" "linux-source-$series"

for package in linux-image-*.deb linux-headers-*.deb linux-kbuild-*.deb; do
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

uio=$(find root -name 'uio.ko*')
case $uio in
  *.xz) xz -dc "$uio" > "$folder/uio.ko" ;;
  *) cp "$uio" "$folder/uio.ko" ;;
esac
cp module/uio_pdrv_genirq.ko "$folder/"
cp root/boot/vmlinuz-"$release" "$folder/vmlinuz"
echo "$release" > "$folder/release"
