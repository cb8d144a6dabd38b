/** Fills the state of a device with connections, for measures in one process. */
import { randomBytes } from 'node:crypto'
import { newId } from '../src/crypto/encoding/id.ts'
import type { Vault } from '../src/device/identity/vault.ts'
import type { State } from '../src/state/state.ts'

/** Stores connections of two accounts each, with their secrets. Returns their ids. */
export function fillConnections(state: State, vault: Vault, own: string, count: number): string[] {
  return state.transaction(() =>
    Array.from({ length: count }, (_, n) => {
      const at = Date.now()
      const id = newId('con_', at)
      const members = [
        { user_id: own, display_name: 'Me' },
        { user_id: newId('acc_', at), display_name: `Friend number ${n}` },
      ]
      const head = new Uint8Array(randomBytes(32))
      const name = `Friend ${n}`
      state.connections.put({ id, name, epoch: 1, head, members, hold: null, updated_at: at })
      vault.put(id, randomBytes(32))
      return id
    }),
  )
}
