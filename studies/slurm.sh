#!/usr/bin/env bash
# Runs a study as a Slurm job array, and merges its shards when all of them are done:
#
#     studies/slurm.sh STUDY.toml SHARDS [SBATCH-OPTION…]
#
# for example
#
#     studies/slurm.sh studies/latency.toml 16 --partition=batch --time=1:00:00
#
# The study's folder must be one that all nodes see, and `vp` must be in their PATH, or be named by VP. A shard that is run again, as
# after a node's failure, goes on where it was: what is done is on the disk. What is printed goes to STUDY.results/slurm-*.out.
set -euo pipefail

vp=${VP:-vp}

# Within the array: one shard.
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
  exec "$vp" study "$1" --shard "$SLURM_ARRAY_TASK_ID/$2" --jobs "${SLURM_CPUS_PER_TASK:-1}"
fi
# Behind it: the whole.
if [ "${VP_STUDY_MERGE:-}" = 1 ]; then
  exec "$vp" study merge "$1"
fi

if [ $# -lt 2 ]; then
  echo "usage: $0 STUDY.toml SHARDS [SBATCH-OPTION…]" >&2
  exit 2
fi
study=$(realpath "$1") shards=$2
shift 2
results=${study%.toml}.results
mkdir -p "$results"

array=$(sbatch --parsable --requeue --job-name=vp-study --array="1-$shards" --output="$results/slurm-%a.out" \
  "$@" "$0" "$study" "$shards")
# A shard with a point that failed has ended with an error, and is whole all the same.
merge=$(VP_STUDY_MERGE=1 sbatch --parsable --job-name=vp-merge --dependency="afterany:${array%%;*}" \
  --output="$results/slurm-merge.out" "$@" "$0" "$study" "$shards")
echo "array ${array%%;*}, then merge ${merge%%;*}: $results"
