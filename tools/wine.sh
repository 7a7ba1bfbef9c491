#!/bin/sh
# Runs a program for Windows: tools/wine.sh PROGRAM [ARGUMENT...]. Wine keeps its files in build/wine, and its server
# stays for a minute, which makes the next program start faster.
set -eu
WINEPREFIX=$(dirname -- "$(readlink -f -- "$0")")/../build/wine
mkdir -p "$WINEPREFIX"
WINEPREFIX=$(readlink -f -- "$WINEPREFIX")
export WINEPREFIX WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
exec wine "$@"
