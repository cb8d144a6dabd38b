#!/usr/bin/env bash
# Runs one account server on PostgreSQL and two daemons, for Ada and Bob. Both people sign in with a
# code from a mail. Ada invites Bob to a connection, and they prove their identity to each other with
# three words. At the end, Ada removes Bob. Everything runs on this machine, in a temporary folder
# that is deleted afterwards.
#
#   npm ci && examples/two-people.sh
set -euo pipefail
cd "$(dirname "$0")/.."
PATH="$PWD/node_modules/.bin:$PATH"
# Variables of Countersign in the user's environment would change the example.
for name in $(compgen -e SVC_ || true); do unset "$name"; done

work=$(mktemp -d)
# The programs put their temporary files into the folder too, so that they are deleted with it.
# PostgreSQL never runs as root, so its user needs access to the folder.
export TMPDIR=$work
chmod 711 "$work"
running=()
finish() {
  local code=$?
  trap - EXIT
  # Stops the programs in reverse order: the daemons, then their server, then its database.
  for ((i = ${#running[@]} - 1; i >= 0; i--)); do
    kill "${running[i]}" 2>/dev/null || true
    wait "${running[i]}" 2>/dev/null || true
  done
  if [ "$code" -ne 0 ]; then
    echo "The example failed (exit code $code). The logs:" >&2
    tail -n 20 "$work"/*.log >&2 || true
  fi
  rm -rf "$work"
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

heading() { printf '\n== %s\n' "$*"; }
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
  # Without a file name, the grep below would wait for standard input.
  mail=$(grep -ls "^To: $1" "$work"/mail/*.eml) || { echo "There is no mail to $1." >&2 && return 1; }
  grep -ohE '[0-9A-Z]{4}(-[0-9A-Z]{4}){3}' $mail | tail -n 1
}

heading 'Start an account server on PostgreSQL'
start postgres node examples/postgres.ts
SVC_STATE_DIR=$work/server SVC_DATABASE_URL=$(cat "$work/postgres.line") SVC_MAIL_DIR=$work/mail SVC_ACCOUNT_PORT=0 \
  start server node dist/countersignd.cjs server --json
server=$(field account_address <"$work/server.line")
echo "$server"

# Runs a command with the state folder and the daemon of a person.
as() { # PERSON COMMAND…
  local person=$1
  shift
  SVC_STATE_DIR=$work/$person SVC_BACKEND_URL=$server SVC_KEYCHAIN=file SVC_HTTP_PORT=0 "$@"
}

for person in ada bob; do
  heading "$person signs in with a code from a mail"
  as $person start $person node dist/countersignd.cjs serve --json
  # The first call requests the code and ends, because it has no input. The second enters the code.
  as $person countersignd login --email $person@example.org </dev/null || true
  code=$(code_for $person@example.org)
  as $person countersignd login --email $person@example.org <<<"$code"
  as $person countersignd whoami
done

# A script creates a token, and then uses plain HTTP.
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

heading 'Ada and Bob read the public profiles of each other'
for pair in 'ada bob' 'bob ada'; do
  read -r me other <<<"$pair"
  profile=$(ask "$me" GET "/api/v1/profiles/$(cat "$work/$other.id")")
  echo "$profile"
  [ "$(field id <<<"$profile")" = "$(cat "$work/$other.id")" ]
  ask "$me" GET "/api/v1/profiles/$(cat "$work/$other.id")/keys" | field items.0.id
done
[ "$(cat "$work/ada.id")" != "$(cat "$work/bob.id")" ]

heading 'Ada creates a connection and invites the address of Bob'
connection=$(as ada countersignd connection create --name 'Ada and Bob' --invite bob@example.org --json | field id)
as bob countersignd invite list
invitation=$(as bob countersignd invite list --json | field received.0.id)

heading 'Bob approves. The daemon of Ada adds Bob to the connection and encrypts the secret to his device'
# Ends when Bob can use words.
as bob countersignd invite approve "$invitation" --wait
as bob countersignd code "$connection"
as ada countersignd connection members "$connection"

heading 'Ada and Bob compare the safety number: if it is the same on both screens, no other person is between them'
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
# Verifies words on the daemon of a person. Fails if the exit code or the member of the response is
# not the expected one.
hears() { # PERSON WORDS EXIT-CODE MEMBER VALUE
  local answer code=0
  answer=$(as "$1" countersignd verify --json <<<"$2") || code=$?
  echo "$1 hears \"$2\": $(field summary <<<"$answer")"
  [ "$code" -eq "$3" ] && [ "$(field "$4" <<<"$answer")" = "$5" ] ||
    { echo "Expected exit code $3, and $5 as the value of $4." >&2 && return 1; }
}

heading 'Bob calls Ada. The caller reads the words first. Ada verifies them, and then reads hers'
bobs=$(words_of bob)
hears ada "$bobs" 0 verified true
adas=$(words_of ada)
hears bob "$adas" 0 verified true

heading 'Words that prove nothing: her own words, and words that were already used'
hears ada "$adas" 10 echo true
hears ada "$bobs" 10 replayed true

heading 'Words for one listener and one purpose: Ada reads a word to Bob, and Bob answers with words that are valid only for her and this purpose'
# Verifies the words of Bob for a challenge of Ada. Both people enter a purpose; the purposes may
# differ.
answers() { # PURPOSE-OF-ADA PURPOSE-OF-BOB VERIFIED
  local drawn words answer
  drawn=$(ask ada POST /api/v1/verify/challenges "{\"connection_id\": \"$connection\", \"purpose\": \"$1\"}")
  words=$(as bob countersignd code "$connection" --challenge "$(field word <<<"$drawn")" --purpose "$2" --json | field words)
  answer=$(ask ada POST /api/v1/verify "{\"words\": \"$words\", \"challenge_id\": \"$(field id <<<"$drawn")\"}")
  echo "ada hears \"$words\": $(field summary <<<"$answer")"
  [ "$(field purpose <<<"$drawn")" = pay12000to1234 ] && [ "$(field verified <<<"$answer")" = "$3" ] ||
    { echo "Expected $3 as the value of verified." >&2 && return 1; }
}
answers 'Pay 12,000 to 1234' 'pay 12000 to 1234' true
answers 'Pay 12,000 to 1234' 'pay 99000 to 1234' false

heading 'Ada removes Bob: the connection gets a new secret, and his words are no longer verified'
# Read before the removal, because his daemon may fetch the change at any time afterwards.
bobs=$(words_of bob)
as ada countersignd connection remove-member "$connection" "$(cat "$work/bob.id")"
hears ada "$bobs" 10 replayed false
for try in {1..100}; do
  as bob countersignd code "$connection" || break
  if [ "$try" -eq 100 ]; then
    echo 'Bob still gets words after his removal.' >&2
    exit 1
  fi
  sleep 0.2
done

heading 'Done'
