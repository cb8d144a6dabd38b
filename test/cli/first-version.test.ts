/** A state folder of protocol 1 is rejected by name and left unchanged. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { EXIT } from '../../src/errors.ts'
import { countersignd } from '../e2e/program.ts'
import { earlierState } from '../state/earlier-state.ts'

const FIXTURE = join(import.meta.dirname, '../fixtures/first-version/state')

const DATABASES = ['state.db', 'account.db']
const bytesOf = (dir: string) => DATABASES.map((name) => readFileSync(join(dir, name)))

describe('a state folder of protocol 1', () => {
  for (const command of ['serve', 'status', 'connection list', 'sync'])
    it(`${command}: rejected by name, with its own exit code, and the folder stays unchanged`, async (t) => {
      const dir = earlierState(t, 'first-version')
      const { code, stderr } = await countersignd(command.split(' '), dir)
      assert.equal(code, EXIT.stateOlder, stderr)
      assert.match(
        stderr,
        /state\.db was written before the first release of countersignd \(version 1;/,
      )
      assert.match(stderr, /another SVC_STATE_DIR/)
      assert.deepEqual(bytesOf(dir), bytesOf(FIXTURE))
    })
})
