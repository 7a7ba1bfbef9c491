#!/bin/sh
# The listed public headers are installed and nothing else, but for those of the checker, in a folder of their own. Usage: installed_headers.sh PREFIX HEADER...
set -eu
cd "$1/include"
shift
printf 'ekiden/%s\n' "$@" | sort >../listed
find . -path ./ekiden-check -prune -o -type f -print | sed 's,^\./,,' | sort >../installed
diff ../listed ../installed
