#!/usr/bin/env bash
# The newest releases of everything, without our tested versions and upper bounds: which are they, and what do they break?
#
#   tools/newest.sh [FOLDER]     the folder of the new environment; default: a temporary one
#
# TORCH: how uv gets torch; default: the newest CPU build of PyTorch's own index.
set -euo pipefail
project=$(cd "$(dirname "$0")/.." && pwd)
folder=$(realpath "${1:-$(mktemp -d)}")
"${PYTHON:-python3}" -m venv "$folder/venv"
bin="$folder/venv/bin"
"$bin/python" -m pip install --quiet uv # pip would try release after release
"$bin/python" - "$project/pyproject.toml" > "$folder/requirements.txt" << 'END'
import re, sys, tomllib
project = tomllib.load(open(sys.argv[1], "rb"))["project"]
extras = project["optional-dependencies"]
for text in [*project["dependencies"], *extras["demo"], *extras["charts"], *extras["strings"]]:
    print(re.sub(r",?<[^,]*", "", text))
END
read -ra torch <<< "${TORCH:---torch-backend=cpu}"
"$bin/uv" pip install --quiet --python "$bin/python" --requirement "$folder/requirements.txt" "${torch[@]}"
"$bin/uv" pip install --quiet --python "$bin/python" --no-deps "$project"
"$bin/uv" pip freeze --python "$bin/python" > "$folder/versions.txt"
echo "Not the tested version:"
tr _ - < "$project/constraints.txt" | grep --ignore-case --invert-match --line-regexp --fixed-strings --file=- "$folder/versions.txt" || true

cd "$folder"
status=0
try() { # what it is, command
  if "${@:2}" > output.txt 2>&1; then
    echo "works: $1"
  else
    echo "BROKEN: $1"
    tail -n 20 output.txt
    status=1
  fi
}
STRINGS="[rouge_score, bleu_score, chrf_score, exact_match, string_presence, non_llm_string_similarity]"
try "import" "$bin/python" -c "import rag_evaluator; rag_evaluator.RAGEvaluator, rag_evaluator.sort"
try "configuration of the sample" "$bin/rag-evaluator" init --sample
try "the sample" "$bin/rag-evaluator" config.yaml
try "string metrics" "$bin/rag-evaluator" config.yaml --set name=strings --set metrics="$STRINGS"
exit "$status"
