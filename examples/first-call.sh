#!/usr/bin/env bash
# Two people at their terminals, from nothing to a verified call with compared keys: eight commands.
# The terminals are those of tmux, in which this script types. It prints what each screen shows, and
# the seconds that were spent waiting. Everything runs on this machine, in a temporary folder that is
# deleted afterwards. docs/first-call.md explains the steps.
#
#   npm ci && npm run build && examples/first-call.sh
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
# Variables of Countersign in the user's environment would change the example.
for name in $(compgen -e SVC_ || true); do unset "$name"; done

work=$(mktemp -d)
# A tmux server of its own, which does not read the user's configuration.
tmux() { command tmux -S "$work/tmux" -f /dev/null "$@"; }
finish() {
  local code=$?
  trap - EXIT
  tmux kill-server 2>/dev/null || true
  [ -z "${server_pid:-}" ] || kill "$server_pid" 2>/dev/null || true
  [ -z "${server_pid:-}" ] || wait "$server_pid" 2>/dev/null || true
  # The daemons end with their terminals, and may still write.
  until rm -rf "$work" 2>/dev/null; do sleep 0.1; done
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

commands=0
waited=0
screen() { tmux capture-pane -Jpt "$1" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'; }
enter() { tmux send-keys -t "$1" -l -- "$2" && tmux send-keys -t "$1" Enter; } # TERMINAL TEXT
# Types a command, after clearing the screen.
run() { # TERMINAL COMMAND…
  commands=$((commands + 1))
  tmux send-keys -t "$1" C-l
  tmux clear-history -t "$1"
  enter "$1" "countersignd ${*:2}"
}
# Prints the time in microseconds.
now() { echo "${EPOCHREALTIME//[.,]/}"; }
# Waits until the screen shows a text, and adds the microseconds to those that were waited.
shows() { # TERMINAL REGULAR-EXPRESSION
  local begun
  begun=$(now)
  until screen "$1" | grep -qE "$2"; do
    if (($(now) - begun > 60000000)); then
      echo "The terminal $1 does not show \"$2\":" >&2
      screen "$1" >&2
      exit 1
    fi
    sleep 0.02
  done
  waited=$((waited + $(now) - begun))
}
show() { printf '\n== %s\n' "$2" && screen "$1"; } # TERMINAL TITLE

# A program, as if it were installed.
mkdir "$work/bin"
printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$root/node_modules/.bin/node" "$root/dist/countersignd.cjs" >"$work/bin/countersignd"
chmod 755 "$work/bin/countersignd"
export PATH="$work/bin:$PATH"

SVC_STATE_DIR=$work/server SVC_MAIL_DIR=$work/mail SVC_ACCOUNT_PORT=0 countersignd server --json \
  >"$work/server.line" 2>"$work/server.log" &
server_pid=$!
until [ -s "$work/server.line" ]; do sleep 0.05; done
server=$(sed 's/.*"account_address":"\([^"]*\)".*/\1/' "$work/server.line")

for person in ada bob; do
  for terminal in "$person" "$person-daemon"; do
    tmux new-session -d -s "$terminal" -x 100 -y 40 \
      "PS1='\$ ' PATH='$PATH' SVC_STATE_DIR='$work/$person' SVC_BACKEND_URL='$server' SVC_HTTP_PORT=0 SVC_KEYCHAIN=file bash --norc"
  done
done

# Prints the code in the newest mail to a person.
code_for() { grep -l "^To: $1@" "$work"/mail/*.eml | xargs grep -ohE '[0-9A-Z]{4}(-[0-9A-Z]{4}){3}' | tail -n 1; }

for person in ada bob; do
  run "$person" login --email "$person@example.org"
  shows "$person" 'Code from the mail'
  enter "$person" "$(code_for "$person")"
  shows "$person" 'Your name'
  enter "$person" "${person^}"
  shows "$person" 'now see you as'
  show "$person" "${person^} signs in"
  run "$person-daemon" serve
  shows "$person-daemon" 'listens on'
done

run ada connection create --name Bob --invite bob@example.org --words
shows ada 'Waiting for the other side'
four=$(screen ada | sed -n 's/^Words  *\([a-z]* [a-z]* [a-z]* [a-z]*\).*/\1/p')
run bob invite approve Ada --words
shows bob 'Four words'
enter bob "$four"
shows bob 'Approved'
shows ada 'The other side is confirmed'
show ada 'Ada invites Bob, and speaks the four words'
show bob 'Bob approves'

# Prints the own words that a screen shows.
own_words() { screen "$1" | sed -n 's/.*your words:  *\([a-z]* [a-z]* [a-z]*\).*/\1/p' | tail -n 1; }
run bob call
shows bob 'Three words that they say'
run ada call Bob
shows ada 'When they answer'
enter ada ''
shows ada 'Three words that they say'
enter bob "$(own_words ada)"
shows bob 'Now say your words'
enter ada "$(own_words bob)"
shows ada 'You can talk now'
show ada 'Ada calls Bob'
show bob 'Bob is called'

printf '\n%s commands, %s.%s seconds of waiting\n' "$commands" $((waited / 1000000)) $((waited / 100000 % 10))
