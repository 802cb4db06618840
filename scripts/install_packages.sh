#!/usr/bin/env bash
# Installs the Debian packages that this project builds and runs with, as far as they are missing. Costs nothing when
# all are there. Needs root (or sudo) only when something has to be installed. Arguments are more packages to install.
set -euo pipefail

packages=(
  g++ cmake ninja-build git
  libtorch-dev libopenblas0-pthread
  libopenmpi-dev openmpi-bin
  libzmq3-dev cppzmq-dev
  libhdf5-dev hdf5-tools
  libyaml-cpp-dev libspdlog-dev libfmt-dev libcli11-dev nlohmann-json3-dev
  libgtest-dev libgmock-dev libbenchmark-dev libboost-graph-dev
  python3 python3-h5py python3-onnx python3-matplotlib python3-pytest python3-jsonschema
  "$@"
)

missing=()
for package in "${packages[@]}"; do
  if ! dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed'; then
    missing+=("$package")
  fi
done
if [ "${#missing[@]}" -eq 0 ]; then
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "These packages are missing; install them as root and try again: ${missing[*]}" >&2
    exit 3
  fi
  as_root=(sudo)
fi
echo "installing: ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
