#!/bin/bash
# Installs Slurm where that is allowed. Exit code 77: it is not here and cannot be installed.
set -u
missing=
for tool in slurmctld slurmd sbatch munged; do
  command -v "$tool" >/dev/null || missing=yes
done
if [ -z "$missing" ]; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "Slurm is not installed, and installing it needs root and apt-get." >&2
  exit 77
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -qq -y --no-install-recommends slurmctld slurmd slurm-client munge >/dev/null \
  || { echo "Slurm could not be installed by apt-get." >&2; exit 77; }
