#!/usr/bin/env bash
# Uses a daemon over HTTP, in a shell: lists the connections, verifies three words, stamps a file.
# Needs curl and jq.
#
#   echo 'matador carload recede' | examples/client.sh invoice.pdf
#
# COUNTERSIGN_TOKEN: a token of scope write; without it, one is created for ten minutes.
# SVC_HTTP_BIND and SVC_HTTP_PORT: the daemon's address and port, if they differ from the defaults.
# COUNTERSIGN_URL: its whole base URL, in place of both.
set -euo pipefail

host=${SVC_HTTP_BIND:-127.0.0.1}
# An IPv6 address needs brackets in a URL.
case $host in *:*) host="[$host]" ;; esac
url=${COUNTERSIGN_URL:-http://$host:${SVC_HTTP_PORT:-19821}}
token=${COUNTERSIGN_TOKEN:-}

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}
for program in curl jq sha256sum; do
  command -v "$program" >/dev/null || fail "Cannot find $program. Install it."
done
file=${1:-}
[ -n "$file" ] || fail 'Name a file to stamp, and write three words to standard input.'
[ -r "$file" ] || fail "Cannot read the file $file."

# All users can read the arguments of a program. So the token is passed in a file, and a body on
# standard input.
fields() {
  printf 'header = "Content-Type: application/json"\n'
  [ -z "$token" ] || printf 'header = "Authorization: Bearer %s"\n' "$token"
}

# Sends a request, with the body, if any, from standard input. Prints the response.
ask() { # METHOD PATH [--data-binary @-]
  local answer status method=$1 path=$2
  shift 2
  answer=$(curl -gsS --noproxy '*' --config <(fields) -X "$method" -w '\n%{http_code}' "$@" "$url$path" 2>/dev/null) ||
    fail "No daemon answers at $url: start one with \"countersignd serve\"."
  status=${answer##*$'\n'}
  answer=${answer%$'\n'*}
  # The message of an error names the remedy.
  [ "$status" -lt 400 ] || fail "$(jq -r .message <<<"$answer")"
  printf '%s\n' "$answer"
}
send() { ask POST "$1" --data-binary @-; }

read -r words || true
if [ -z "$token" ]; then
  token=$(send /api/v1/token <<<'{"name": "example", "scope": "write", "expires_in": 600}' | jq -r .token)
fi

cursor=
while :; do
  page=$(ask GET "/api/v1/connections${cursor:+?cursor=$cursor}")
  jq -r '.items[] | "\(.id)  \(.name) (\(.state))"' <<<"$page"
  cursor=$(jq -r '.next_cursor // ""' <<<"$page")
  [ -n "$cursor" ] || break
done

if [ -n "${words:-}" ]; then
  jq -R '{words: .}' <<<"$words" | send /api/v1/verify | jq -r .summary
fi

# The daemon signs the digest. The file is not uploaded.
digest=$(sha256sum <"$file")
jq -R '{sha256: .}' <<<"${digest%% *}" | send /api/v1/stamp | jq -r .verification_url
