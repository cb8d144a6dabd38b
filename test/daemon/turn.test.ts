/** The daemon’s scheduled runs, and when it signs in with a given machine key. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { newTurn } from '../../src/daemon/schedule.ts'
import type { LocalDevice } from '../../src/device/device.ts'
import type { Identity } from '../../src/device/identity/identity.ts'
import { freshFolder } from '../keychain/fresh-folder.ts'

const KEY = {
  kty: 'OKP',
  crv: 'Ed25519',
  x: 'x',
  d: 'd',
  machine: 'mch_01k9zq3v5w8x2y4z6a8b0c2d4e',
  token_endpoint: 'https://accounts.example/oauth/token',
}

type Came = 'signed_in' | 'awaiting_approval' | 'refused'

/**
 * Creates a daemon with the key of a machine account; `comes` lists the result of each sign-in.
 */
function headless(t: TestContext, comes: Came[]) {
  const credentialsDir = freshFolder(t)
  writeFileSync(join(credentialsDir, 'countersign-machine-key'), JSON.stringify(KEY))
  const seen = { signIns: 0, syncs: 0, wakes: 0, logged: [] as string[] }
  const here: { identity: Identity | null; device: LocalDevice | null } = {
    identity: null,
    device: null,
  }
  const sync = { run: async () => ({ ok: ++seen.syncs > 0 }) }
  const firstContacts = { wake: () => void seen.wakes++ }
  const sit = (came: Came) => {
    here.identity = { account: 'acc_01k9zq3v5w8x2y4z6a8b0c2d4e', device: 'dev_1' } as Identity
    here.device = came === 'signed_in' ? ({ sync, firstContacts } as unknown as LocalDevice) : null
  }
  const turn = newTurn({
    credentialsDir,
    deviceSession: { identity: () => here.identity, device: () => here.device },
    signIn: {
      machine: async () => {
        seen.signIns++
        const came = comes.shift() ?? 'refused'
        if (came === 'refused') throw new Error('no')
        sit(came)
        return {} as never
      },
    },
    log: (level, event) => void seen.logged.push(`${level}: ${event}`),
  })
  const logout = () => Object.assign(here, { identity: null, device: null })
  return { turn: () => turn('timer'), seen, sit, logout }
}

describe('a daemon with the key of a machine account', () => {
  it('signs in at its start, retries until it succeeds, and then syncs', async (t) => {
    const { turn, seen } = headless(t, ['refused', 'refused', 'signed_in'])
    assert.deepEqual(
      [await turn(), await turn(), await turn(), await turn()],
      [false, false, true, true],
    )
    assert.deepEqual([seen.signIns, seen.syncs], [3, 2])
    assert.equal(seen.wakes, 2, 'first contacts go on after a restart')
    assert.deepEqual(
      new Set(seen.logged),
      new Set(['error: could not sign in with the key of the machine account']),
    )
  })

  it('stays signed out after a user signed it out, also one who was signed in before it', async (t) => {
    const own = headless(t, ['signed_in', 'signed_in'])
    const other = headless(t, ['signed_in'])
    other.sit('signed_in')
    for (const { turn, seen, logout } of [own, other]) {
      await turn()
      const { signIns } = seen
      logout()
      assert.deepEqual([await turn(), await turn()], [true, true])
      assert.deepEqual([seen.signIns, seen.syncs], [signIns, 1])
    }
  })

  it('awaiting approval: each run logs that, and none signs in again', async (t) => {
    const { turn, seen, sit } = headless(t, ['awaiting_approval', 'awaiting_approval'])
    assert.deepEqual([await turn(), await turn()], [false, false])
    assert.equal(seen.signIns, 1)
    assert.deepEqual(seen.logged, Array(2).fill('warn: not synced: this device waits for approval'))
    sit('signed_in')
    assert.equal(await turn(), true)
    assert.deepEqual([seen.signIns, seen.syncs], [1, 1])
  })
})

it('a daemon without a key and an account does nothing in a run', async () => {
  const turn = newTurn({
    credentialsDir: null,
    deviceSession: { identity: () => null, device: () => null },
    signIn: { machine: () => assert.fail('signs in') },
    log: () => assert.fail('logs'),
  })
  assert.equal(await turn('start'), true)
})
