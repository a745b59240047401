#!/bin/sh
# Installs rag-evaluator from this folder; needs Python @PYTHON@ and no network.
#   bash bundle/install.sh            into .venv of the current folder
#   bash bundle/install.sh FOLDER     into another folder
#   PYTHON=/opt/python/bin/python@PYTHON@ bash bundle/install.sh
set -eu
version=@PYTHON@ glibc=@GLIBC@ machine=@MACHINE@
requirement='@REQUIREMENT@'

fail() {
  printf 'error: %s\n' "$1" >&2
  exit 2
}

bundle=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
venv=${1:-.venv}
[ ! -e "$venv" ] || fail "$venv is there already, and is not overwritten. Give another folder: bash $0 FOLDER"
python=${PYTHON:-$(command -v "python$version" || command -v python3 || true)}
[ -n "$python" ] || fail "no Python here. Install Python $version, or give it: PYTHON=/path/to/python$version bash $0"
unset PYTHONPATH PYTHONHOME

"$python" - "$version" "$glibc" "$machine" <<'END' || exit 2
import platform, sys
version, glibc, machine = sys.argv[1:]
here, libc = "%d.%d" % sys.version_info[:2], platform.libc_ver()
numbers = [int(part) for part in (libc[1] or "0").split(".")[:2]]
fault = None
if here != version:
    fault = "this bundle is for Python %s, and %s is Python %s. Give another one: PYTHON=/path/to/python%s bash install.sh"
    fault %= (version, sys.executable, here, version)
elif (platform.system(), platform.machine()) != ("Linux", machine):
    fault = "this bundle is for Linux on %s, and this is %s on %s." % (machine, platform.system(), platform.machine())
elif libc[0] != "glibc" or numbers < [int(part) for part in glibc.split(".")]:
    fault = "this bundle needs glibc %s or newer, and here is %s. A container brings its own: see containers/."
    fault %= (glibc, " ".join(libc).strip() or "another C library")
else:
    try:
        import ensurepip, venv
    except ImportError as error:
        fault = "%s cannot make environments: %s. On Debian: apt install python%s-venv" % (sys.executable, error, version)
if fault:
    sys.exit("error: " + fault)
END

echo "checking the files"
only='.'
if [ ! -d "$bundle/models" ]; then
  echo "models/ is not here: models are not checked"
  only=' wheels/'
fi
(cd -- "$bundle" && grep -- "$only" SHA256SUMS | sha256sum --check --quiet -) >&2 ||
  fail "files are missing or are not as they were made. Copy the folder again."

trap 'rm -rf -- "$venv"' EXIT
trap 'exit 130' INT TERM
echo "installing into $venv, which takes some minutes"
"$python" -m venv -- "$venv"
PIP_CONFIG_FILE=/dev/null "$venv/bin/python" -m pip --isolated install --quiet --disable-pip-version-check \
  --no-index --find-links "$bundle/wheels" "$requirement"
trap - EXIT

"$venv/bin/rag-evaluator" --version
echo "Next: $venv/bin/rag-evaluator check config.yaml, or a trial: $venv/bin/rag-evaluator init --sample --out trial/config.yaml"
for model in "$bundle"/models/*/; do
  [ ! -d "$model" ] || echo "a model of this bundle: --set judge.model=${model%/}"
done
