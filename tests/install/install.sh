#!/bin/sh
# Installs a build into an empty prefix. Usage: install.sh BUILD PREFIX
set -eu
rm -rf "$2"
cmake --install "$1" --prefix "$2"
