#!/bin/sh
# Builds the images of a bundle with the programs that are here, and scores the sample in each without network:
#   sh bundle/containers/build.sh bundle
# BASE=IMAGE takes another base image, with the Python of the bundle.
set -eu
bundle=${1:?expected the folder of a bundle, as in: sh bundle/containers/build.sh bundle}
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
python=$(sed -n 's/^version=\([0-9.]*\) .*/\1/p' "$bundle/install.sh")
base=${BASE:-docker.io/library/python:$python-slim-bookworm}
sample=$(sed '1,/^%test/d' "$here/rag-evaluator.def")

engine=
for name in docker podman buildah; do
  if "$name" info >/dev/null 2>&1; then
    engine=$name
    break
  fi
done
case $engine in
  docker | podman)
    "$engine" build --build-arg BASE="$base" --file "$here/Dockerfile" --tag rag-evaluator "$bundle"
    "$engine" run --rm --network none --entrypoint sh rag-evaluator -ec "$sample"
    ;;
  buildah)
    buildah build --build-arg BASE="$base" --file "$here/Dockerfile" --tag rag-evaluator "$bundle"
    container=$(buildah from --pull-never rag-evaluator)
    buildah run --network none "$container" -- sh -ec "$sample"
    buildah rm "$container" >/dev/null
    ;;
  *) echo "NOT BUILT: containers/Dockerfile: none of docker, podman and buildah runs here." >&2 ;;
esac

if command -v apptainer >/dev/null; then
  definition=$(mktemp)
  sed "s|^From: .*|From: $base|; s|^    bundle/|    $(CDPATH='' cd -- "$bundle" && pwd)/|" "$here/rag-evaluator.def" >"$definition"
  apptainer build --force rag-evaluator.sif "$definition" # runs %test
  apptainer test --net --network none rag-evaluator.sif
  rm "$definition"
else
  echo "NOT BUILT: containers/rag-evaluator.def: apptainer is not here." >&2
fi
