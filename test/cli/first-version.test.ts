/** A state folder of protocol 1, left by a killed daemon, is rejected by name and unchanged. */
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { countersignd } from '../e2e/program.ts'
import { earlierState } from '../state/earlier-state.ts'

/** The journal of the killed daemon's lock: SQLite deletes it with the next lock. */
const LOCK_JOURNAL = 'lock.db-journal'

/** Returns the files and folders below a folder, with the SHA-256 of the files. */
const contentOf = (dir: string): ReadonlyMap<string, string | null> =>
  new Map(
    readdirSync(dir, { withFileTypes: true, recursive: true })
      .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
      .filter(({ entry }) => entry.name !== LOCK_JOURNAL)
      .map(({ entry, path }) => [
        relative(dir, path),
        entry.isDirectory() ? null : hash('sha256', readFileSync(path)),
      ]),
  )

const STATE = /\/state\.db was written before the first release of countersignd \(version 7;/
const ACCOUNT = /account database was written before the first release of countersignd \(version 7;/

describe('a state folder of protocol 1', () => {
  const cases = [
    ['serve', EXIT.stateOlder, STATE],
    ['server', EXIT.stateOlder, ACCOUNT],
    ['status', EXIT.stateOlder, STATE],
    ['doctor', EXIT.failed, STATE],
    ['connection list', EXIT.stateOlder, STATE],
    ['sync', EXIT.stateOlder, STATE],
  ] as const
  for (const [command, exit, message] of cases)
    it(`${command}: rejected by name, with its exit code, and the folder stays unchanged`, async (t) => {
      const dir = earlierState(t, 'first-version')
      const before = contentOf(dir)
      const { code, stdout, stderr } = await countersignd(command.split(' '), dir)
      assert.equal(code, exit, stderr)
      assert.match(stdout + stderr, message)
      assert.match(stdout + stderr, /another SVC_STATE_DIR/)
      assert.deepEqual(contentOf(dir), before)
    })
})
