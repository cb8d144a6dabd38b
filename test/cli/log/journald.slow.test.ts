/** The journal itself: a real systemd-journald, in folders of its own, with the real daemon. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { PROGRAM, environment } from '../../e2e/program.ts'
import { noSmallDisk } from '../../soak/small-disk.ts'

const JOURNALD = '/usr/lib/systemd/systemd-journald'
const skip =
  noSmallDisk || [JOURNALD, '/usr/bin/systemd-cat'].some((path) => !existsSync(path))
    ? noSmallDisk || 'systemd is not installed'
    : false

// systemd sets JOURNAL_STREAM for the services that it starts; systemd-cat does not.
const SCRIPT = `
set -e
mount -t tmpfs countersign /run
mkdir -p /run/systemd/journal /run/log/journal
mount -t tmpfs countersign /var/log
${JOURNALD} & journald=$!
trap 'kill $journald' EXIT
until [ -S /run/systemd/journal/stdout ]; do kill -0 $journald; done
# Replaces the shell, so that the process of the daemon is that of the shell.
in_journal() {
  exec systemd-cat -t countersignd sh -c \\
    'JOURNAL_STREAM=$(stat -L -c %d:%i /proc/self/fd/2) exec "$0" "$@"' "$NODE" "$MAIN" "$@"
}
(SVC_HTTP_PORT=x in_journal serve) || [ $? = 3 ]
in_journal serve & daemon=$!
"$NODE" "$MAIN" health --wait 60 >/dev/null
kill $daemon
wait $daemon || true
journalctl --sync 2>/dev/null || true
journalctl -t countersignd -o json
`

interface Entry {
  readonly PRIORITY: string
  readonly MESSAGE: string
}

test('the journal has each line with its priority, and the line itself is JSON', { skip }, () => {
  const out = execFileSync('unshare', ['--mount', 'sh', '-c', SCRIPT], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: environment('/run/state', { NODE: process.execPath, MAIN: PROGRAM }),
  })
  const entries = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry)
  const errors = entries.filter(({ PRIORITY }) => PRIORITY === '3')
  assert.match(errors.map(({ MESSAGE }) => MESSAGE).join('\n'), /^countersignd: SVC_HTTP_PORT is/)
  const logged = entries.filter(({ MESSAGE }) => MESSAGE.startsWith('{'))
  const listening = logged.find(({ MESSAGE }) => MESSAGE.includes('"event":"listening"'))
  assert.equal(listening?.PRIORITY, '6')
  for (const { MESSAGE } of logged) JSON.parse(MESSAGE)
})
