#!/usr/bin/env bash
# Ada and Bob, each with their own daemon, and one account server on PostgreSQL. Both sign in with a
# code from their mail, Ada invites Bob to a connection, and they prove their identity to each other
# with three words, until Ada removes him. Everything runs on this machine, in a temporary folder
# that is deleted afterwards.
#
#   npm ci && examples/two-people.sh
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
# The user may have set variables of Countersign.
for name in $(compgen -e SVC_ || true); do unset "$name"; done

work=$(mktemp -d)
# Leftovers of the programs are deleted with the folder. PostgreSQL, which never runs as root, needs
# access to it.
export TMPDIR=$work
chmod 711 "$work"
running=()
finish() {
  local code=$?
  trap - EXIT
  # The last one started is stopped first: daemons, then their server, then its database.
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

# Starts a program in the background and waits for its first line, which is written to a file.
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

# Prints a member of the JSON on standard input: field user.id
field() { node -e 'let v = JSON.parse(require("fs").readFileSync(0)); for (const k of process.argv[1].split(".")) v = v[k]; console.log(v)' "$1"; }

# Prints the code in the mail to an address.
code_for() { # ADDRESS
  local mail
  # Without a file, the next command would wait for its standard input.
  mail=$(grep -ls "^To: $1" "$work"/mail/*.eml) || { echo "No mail came to $1." >&2 && return 1; }
  grep -ohE '[0-9A-Z]{4}(-[0-9A-Z]{4}){3}' $mail | tail -n 1
}

say 'An account server on PostgreSQL'
start postgres node examples/postgres.ts
SVC_STATE_DIR=$work/server SVC_DATABASE_URL=$(cat "$work/postgres.line") SVC_MAIL_DIR=$work/mail SVC_ACCOUNT_PORT=0 \
  start server node dist/countersignd.cjs server --json
server=$(field account_address <"$work/server.line")
echo "$server"

# Runs a command with the person's own state folder and daemon.
as() { # PERSON COMMAND…
  local person=$1
  shift
  SVC_STATE_DIR=$work/$person SVC_BACKEND_URL=$server SVC_KEYCHAIN=file SVC_HTTP_PORT=0 "$@"
}

for person in ada bob; do
  say "$person signs in with a code from the mailbox"
  as $person start $person node dist/countersignd.cjs serve --json
  # The first call requests the code, and ends without input; the second continues with the code.
  as $person countersignd login --email $person@example.org </dev/null || true
  code=$(code_for $person@example.org)
  as $person countersignd login --email $person@example.org <<<"$code"
  as $person countersignd whoami
done

# The steps of a script: create a token, then use plain HTTP.
token() { as "$1" countersignd token create --name example --scope write; }
ask() { # PERSON METHOD PATH [BODY]
  curl -fsS -X "$2" "$(field address <"$work/$1.line")$3" -H "Authorization: Bearer $(cat "$work/$1.token")" \
    ${4:+-H 'Content-Type: application/json' -d "$4"}
}
for person in ada bob; do
  (umask 077 && token $person >"$work/$person.token")
  ask $person GET /api/v1/context | field user.id >"$work/$person.id"
  # The name that other accounts see; the default is the name of the machine's user.
  ask $person PATCH /api/v1/profile "{\"display_name\": \"${person^}\"}" >"$work/$person.profile"
done

say 'Each reads the public profile of the other'
for pair in 'ada bob' 'bob ada'; do
  read -r me other <<<"$pair"
  profile=$(ask "$me" GET "/api/v1/profiles/$(cat "$work/$other.id")")
  echo "$profile"
  [ "$(field id <<<"$profile")" = "$(cat "$work/$other.id")" ]
  ask "$me" GET "/api/v1/profiles/$(cat "$work/$other.id")/keys" | field items.0.id
done
[ "$(cat "$work/ada.id")" != "$(cat "$work/bob.id")" ]

say 'Ada makes a connection and invites the mailbox of Bob, who approves'
connection=$(as ada countersignd connection create --name 'Ada and Bob' --invite bob@example.org --json | field id)
as bob countersignd invite list
invitation=$(as bob countersignd invite list --json | field received.0.id)
as bob countersignd invite approve "$invitation"

say 'Both daemons go on by themselves: hers takes him in and seals the secret to his device'
for try in {1..100}; do
  if as bob countersignd code "$connection"; then break; fi
  if [ "$try" -eq 100 ]; then exit 1; fi
  sleep 0.2
done 2>"$work/waiting.log"
as ada countersignd connection members "$connection"

say 'They compare the safety number: the same on both screens, nobody stands between them'
for pair in 'ada bob' 'bob ada'; do
  read -r me other <<<"$pair"
  as "$me" countersignd trust follow "$other@example.org" --json | field safety_number >"$work/$me.number"
  echo "$me sees $(cat "$work/$me.number")"
done
cmp "$work/ada.number" "$work/bob.number"
for pair in 'ada bob' 'bob ada'; do
  read -r me other <<<"$pair"
  as "$me" countersignd trust confirm "$(cat "$work/$other.id")" --safety-number "$(cat "$work/$me.number")"
done

# Prints the current words of a person.
words_of() { as "$1" countersignd code "$connection" --json | field words; }
# Verifies words on a person's daemon. Exit code and one member of the response must be as given.
hears() { # PERSON WORDS EXIT-CODE MEMBER VALUE
  local answer code=0
  answer=$(as "$1" countersignd verify --json <<<"$2") || code=$?
  echo "$1 hears \"$2\": $(field summary <<<"$answer")"
  [ "$code" -eq "$3" ] && [ "$(field "$4" <<<"$answer")" = "$5" ] ||
    { echo "Exit code $3 and $4 $5 were to be expected." >&2 && return 1; }
}

say 'Bob calls Ada: whoever places the call speaks first, and Ada says hers once his were verified'
bobs=$(words_of bob)
hears ada "$bobs" 0 verified true
adas=$(words_of ada)
hears bob "$adas" 0 verified true

say 'What proves nothing: her own words, read back to her, and words that were used before'
hears ada "$adas" 10 echo true
hears ada "$bobs" 10 replayed true

say 'Ada wants to be sure what the words are for: she says a word, and Bob says words for her and this purpose alone'
# Verifies Bob's words for a challenge of Ada; the purposes that the two enter may differ.
answers() { # PURPOSE-OF-ADA PURPOSE-OF-BOB VERIFIED
  local drawn words answer
  drawn=$(ask ada POST /api/v1/verify/challenges "{\"connection_id\": \"$connection\", \"purpose\": \"$1\"}")
  words=$(as bob countersignd code "$connection" --challenge "$(field word <<<"$drawn")" --purpose "$2" --json | field words)
  answer=$(ask ada POST /api/v1/verify "{\"words\": \"$words\", \"challenge_id\": \"$(field id <<<"$drawn")\"}")
  echo "ada hears \"$words\": $(field summary <<<"$answer")"
  [ "$(field purpose <<<"$drawn")" = pay12000to1234 ] && [ "$(field verified <<<"$answer")" = "$3" ] ||
    { echo "verified: $3 was to be expected." >&2 && return 1; }
}
answers 'Pay 12,000 to 1234' 'pay 12000 to 1234' true
answers 'Pay 12,000 to 1234' 'pay 99000 to 1234' false

say 'Ada removes Bob: a new secret, and his words fail'
# Before the removal, since his daemon may learn of it at any time afterwards.
bobs=$(words_of bob)
as ada countersignd connection remove-member "$connection" "$(cat "$work/bob.id")"
hears ada "$bobs" 10 replayed false
as bob countersignd sync
if as bob countersignd code "$connection"; then
  echo 'Bob has words to say still.' >&2
  exit 1
fi

say 'Done'
