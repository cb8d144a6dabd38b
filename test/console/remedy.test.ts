/** The commands in remedies of `doctor`, which the page of the health offers to copy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { remedyOf } from '../../src/console/pages/health/remedy.ts'

const CASES: readonly [remedy: string, text: string, command: string | null][] = [
  ['countersignd sync', '', 'countersignd sync'],
  ['countersignd login --email YOU@EXAMPLE.ORG', '', 'countersignd login --email YOU@EXAMPLE.ORG'],
  ['sudo systemctl restart countersignd', '', 'sudo systemctl restart countersignd'],
  [
    'Free some space before the disk is full. See: countersignd doctor',
    'Free some space before the disk is full. See:',
    'countersignd doctor',
  ],
  [
    'Restart the daemon with this version: kill 12; countersignd serve',
    'Restart the daemon with this version:',
    'kill 12; countersignd serve',
  ],
  // A command that goes on as a sentence is not one to run.
  [
    'Check its log, or stop it: kill 12; if it does not stop: kill -9 12',
    'Check its log, or stop it: kill 12; if it does not stop: kill -9 12',
    null,
  ],
  [
    'countersignd audit verify (then compare the log with a backup)',
    'countersignd audit verify (then compare the log with a backup)',
    null,
  ],
  [
    'chmod u+rwx /x, or set SVC_MAIL_DIR to another folder.',
    'chmod u+rwx /x, or set SVC_MAIL_DIR to another folder.',
    null,
  ],
  ['See the line about state.db.', 'See the line about state.db.', null],
]

for (const [remedy, text, command] of CASES)
  test(`remedy: ${remedy}`, () => {
    assert.deepEqual(remedyOf(remedy), { text, command })
  })
