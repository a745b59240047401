#!/bin/bash
# Installs Chromium and fonts where that is allowed. Exit code 77: it is not here and cannot be installed.
set -u
if command -v chromium >/dev/null; then
  exit 0
fi
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "Chromium is not installed, and installing it needs root and apt-get." >&2
  exit 77
fi
export DEBIAN_FRONTEND=noninteractive
quick=(-qq -o Acquire::Retries=1 -o Acquire::http::Timeout=20 -o DPkg::Lock::Timeout=60) # where the network is cut off
timeout 120 apt-get "${quick[@]}" update \
  && timeout 600 apt-get "${quick[@]}" install -y --no-install-recommends chromium fonts-noto-core fonts-noto-cjk >/dev/null \
  || { echo "Chromium could not be installed by apt-get." >&2; exit 77; }
