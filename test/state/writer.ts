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
  // Each of these has a transaction of its own, with its events.
  state.connections.put({
    id: `con_${n}`,
    name: 'Bank',
    epoch: 1,
    head: new Uint8Array(32),
    members: [],
    hold: null,
    updated_at: n,
  })
  state.guests.put({
    id: `gst_${n}`,
    label: 'Mum',
    state: 'active',
    expires_at: 1,
    created_at: 0,
    external_member_id: null,
    external_member_name: null,
  })
  writeSync(1, `${n}\n`)
}
