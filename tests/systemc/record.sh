#!/usr/bin/env bash
# Records what SystemC prints for the scenarios in this folder.
#
#   record.sh [DIR]     DIR: where the records go (default: ../data/systemc-orders)
#
# Needs g++ and SystemC (Debian: apt-get install g++ libsystemc-dev). CXXFLAGS and LDFLAGS may say where else it is.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
export SYSTEMC_DISABLE_COPYRIGHT_MESSAGE=1

into=${1:-../data/systemc-orders}
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT

# shellcheck disable=SC2086 # flags are words
g++ -std=c++17 -Wall -Wextra ${CXXFLAGS:-} orders.cpp ${LDFLAGS:-} -lsystemc -o "$built/orders"
mkdir -p "$into"
for scenario in $("$built/orders"); do
  "$built/orders" "$scenario" >"$into/$scenario.txt"
done
