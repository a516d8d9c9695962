#!/usr/bin/env bash
# Makes a site of the documents, in target/site: open target/site/index.html.
#
# Needs mdbook: cargo install mdbook
set -euo pipefail
cd "$(dirname "$0")/../.."

command -v mdbook >/dev/null || { echo "error: no mdbook: cargo install mdbook" >&2; exit 1; }
target="${CARGO_TARGET_DIR:-target}"
mkdir -p "$target"
source=$(mktemp -d)
trap 'rm -rf "$source"' EXIT

# The documents as they lie here, so that their links hold, with what they link to.
mkdir "$source/src"
cp docs/book/book.toml "$source/"
cp docs/book/SUMMARY.md "$source/src/"
cp -r README.md ARCHITECTURE.md CHANGELOG.md SECURITY.md LICENSE-APACHE LICENSE-MIT docs networks examples studies "$source/src/"
rm -rf "$source/src/docs/book"
mdbook build "$source" --dest-dir "$(realpath "$target")/site"
echo "$target/site/index.html"
