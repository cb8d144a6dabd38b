#!/usr/bin/env bash
# Ada and Bob, each with a daemon of their own, and one account server on PostgreSQL between them. Both sign in with a code that
# comes by mail, and each looks up the other. Everything runs on this machine, in a temporary folder, and is gone afterwards.
#
#   npm ci && examples/two-people.sh
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
# Whoever runs this may have settings of their own.
for name in $(compgen -e SVC_ || true); do unset "$name"; done

work=$(mktemp -d)
# Whatever a program leaves behind goes with it; and PostgreSQL, which never runs as root, must get through.
export TMPDIR=$work
chmod 711 "$work"
running=()
finish() {
  local code=$?
  trap - EXIT
  # The last one started is the first to go: daemons, then their server, then its database.
  for ((i = ${#running[@]} - 1; i >= 0; i--)); do
    kill "${running[i]}" 2>/dev/null || true
    wait "${running[i]}" 2>/dev/null || true
  done
  if [ "$code" -ne 0 ]; then
    echo "This did not work (exit code $code). The logs:" >&2
    tail -n 20 "$work"/*.log >&2 || true
  fi
  rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n== %s\n' "$*"; }
countersignd() { node dist/countersignd.cjs "$@"; }

# Runs a program in the background until its first line, which is kept in a file.
start() { # NAME COMMAND…
  local name=$1
  shift
  "$@" >"$work/$name.line" 2>"$work/$name.log" &
  running+=($!)
  until [ -s "$work/$name.line" ]; do
    kill -0 "${running[-1]}" || return 1
    sleep 0.05
  done
}

# A member of the JSON on standard input: field user.id
field() { node -e 'let v = JSON.parse(require("fs").readFileSync(0)); for (const k of process.argv[1].split(".")) v = v[k]; console.log(v)' "$1"; }

# The code in the mail to an address.
code_for() { # ADDRESS
  local mail
  # Without a file, the next one would wait for its standard input.
  mail=$(grep -ls "^To: $1" "$work"/mail/*.eml) || { echo "No mail came to $1." >&2 && return 1; }
  grep -ohE '[0-9A-Z]{4}(-[0-9A-Z]{4}){3}' $mail | tail -n 1
}

say 'An account server on PostgreSQL'
start postgres node examples/postgres.ts
SVC_STATE_DIR=$work/server SVC_DATABASE_URL=$(cat "$work/postgres.line") SVC_MAIL_DIR=$work/mail SVC_ACCOUNT_PORT=0 \
  start server node dist/countersignd.cjs server --json
server=$(field account_address <"$work/server.line")
echo "$server"

# Each person has a state folder and a daemon.
as() { # PERSON COMMAND…
  local person=$1
  shift
  SVC_STATE_DIR=$work/$person SVC_BACKEND_URL=$server SVC_KEYCHAIN=file SVC_HTTP_PORT=0 "$@"
}

for person in ada bob; do
  say "$person signs in with a code from the mailbox"
  as $person start $person node dist/countersignd.cjs serve --json
  # The first call has the code sent, and ends where there is nobody to type it; the second goes on with it.
  as $person countersignd login --email $person@example.org </dev/null || true
  code=$(code_for $person@example.org)
  as $person countersignd login --email $person@example.org <<<"$code"
  as $person countersignd whoami
done

# What a script does: a token, then plain HTTP.
token() { as "$1" countersignd token create --name example --scope read; }
get() { # PERSON PATH
  curl -fsS "$(field address <"$work/$1.line")$2" -H "Authorization: Bearer $(cat "$work/$1.token")"
}
for person in ada bob; do
  (umask 077 && token $person >"$work/$person.token")
  get $person /api/v1/context | field user.id >"$work/$person.id"
done

say 'Each reads the public profile of the other'
for pair in 'ada bob' 'bob ada'; do
  read -r me other <<<"$pair"
  profile=$(get "$me" "/api/v1/profiles/$(cat "$work/$other.id")")
  echo "$profile"
  [ "$(field id <<<"$profile")" = "$(cat "$work/$other.id")" ]
  get "$me" "/api/v1/profiles/$(cat "$work/$other.id")/keys" | field items.0.id
done
[ "$(cat "$work/ada.id")" != "$(cat "$work/bob.id")" ]

say 'Done'
