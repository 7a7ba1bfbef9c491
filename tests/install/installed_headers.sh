#!/bin/sh
# The listed public headers are installed and nothing else. Usage: installed_headers.sh PREFIX HEADER...
set -eu
cd "$1/include"
shift
printf 'ekiden/%s\n' "$@" | sort >../listed
find . -type f | sed 's,^\./,,' | sort >../installed
diff ../listed ../installed
