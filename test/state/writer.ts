/**
 * `node writer.ts FOLDER FIRST`: writes rows without end, from number FIRST on.
 * Prints each number when it is stored.
 */
import { writeSync } from 'node:fs'
import { lockState } from '../../src/storage/lock.ts'
import { openState } from '../../src/state/state.ts'

const [dir = '', first] = process.argv.slice(2)

if (lockState(dir) === null) throw new Error('the lock is not free')
const state = openState(dir)
for (let n = Number(first); ; n++) {
  state.transaction(() => {
    const id = `con_${n}`
    state.secrets.put({ id, version: 1, sealed: new Uint8Array(500).fill(n) })
    state.logs.append({ kind: 'roster', subject: 'con', seq: n, entry: `entry ${n}` })
    state.replays.firstUse({ subject: id, epoch: 1, speaker: 'acc', window: n }, n)
    state.tokens.insert({ hash: `hash ${n}`, id, created_at: n }, id)
  })
  writeSync(1, `${n}\n`)
}
