#!/bin/sh
# Only the listed public headers and sources are installed, and the checker's headers in a separate folder.
# Usage: installed_headers.sh PREFIX HEADER...
set -eu
cd "$1/include"
shift
printf 'ekiden/%s\n' "$@" | sort >../listed
find . -path ./ekiden-check -prune -o -type f -print | sed 's,^\./,,' | sort >../installed
diff ../listed ../installed
