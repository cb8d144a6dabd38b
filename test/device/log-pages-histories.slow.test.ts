/**
 * Tests two histories of one log, read in pages or at once: a device keeps one of them, whole.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { lastPlace } from '../../src/crypto/logs/chain.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { thumbprint } from '../../src/crypto/jose/jwk.ts'
import { renewSealKey } from '../../src/crypto/logs/key-log-entries.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { pullKeyLog } from '../../src/device/logs/key-log.ts'
import { rotateNow, setRole } from '../../src/device/connections/members.ts'
import { rememberedRoster } from '../../src/device/logs/roster-cache.ts'
import { rememberedLog } from '../../src/device/identity/key-log-cache.ts'
import { firstOf, newDeviceKeys } from '../crypto/keys.ts'
import { forked, shown, synced } from './histories/forking.ts'
import { paged } from '../world/paged.ts'
import { type DeviceUser, worldOf } from '../world/world.ts'
import { restless } from '../world/interceptor.ts'

/** Returns two key logs with the same first entry, renewed 30 and 60 times. */
function twoLogs() {
  const [keys, device] = [newDeviceKeys(), newId('dev_', 1)]
  const { account, entry } = firstOf(device, keys, 1)
  const by = { by: device, kid: thumbprint(keys.sign.jwk), seed: keys.sign.secret, at: 1 }
  const renewed = (times: number) => {
    const entries = [entry]
    while (entries.length <= times) {
      const log = verifyKeyLog(account, entries, lastPlace(entries))
      entries.push(renewSealKey({ log, seal: randomBytes(32).toString('base64url'), ...by }))
    }
    return entries
  }
  return { account, logs: [renewed(30), renewed(60)] as const }
}

const showingTo = (user: DeviceUser, entries: readonly string[]): Account => {
  const honest = user.account()
  return {
    ...honest,
    keyLogs: {
      ...honest.keyLogs,
      read: async (of) => ({ ...paged(entries, of), seal_keys: [] }),
    },
  }
}

/** Returns rosters in pages of one entry. */
const inSmallPages = (account: Account): Account => ({
  ...restless(account),
  rosters: {
    ...account.rosters,
    async read(of) {
      const page = await account.rosters.read(of)
      if (page.entries.length < 2) return page
      return { ...page, entries: page.entries.slice(0, 1), key_logs: [] }
    },
  },
})

describe('two histories', () => {
  it('of a key log, read at the same time: one is stored, the other one is a fork', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const { account, logs } = twoLogs()
    const pulls = logs.map((log) => pullKeyLog(ada.device(), showingTo(ada, log), account))
    const outcomes = await Promise.allSettled(pulls)
    const reasons = outcomes.flatMap((one) =>
      one.status === 'rejected' ? [one.reason.reason] : [],
    )
    assert.deepEqual(reasons, ['key_log_forked'])
    const stored = rememberedLog(ada.state, account)?.entries
    assert(logs.some((log) => JSON.stringify(log) === JSON.stringify(stored)))
  })

  it('of a roster: pages leave the branch as at the detection of the fork', async (t) => {
    const { ada, cy, id, seq, entry } = await forked(t)
    const seen = await shown(cy, id, seq, entry)
    const before = rememberedRoster(seen.state, id)!.roster.entries
    await setRole(ada.device(), ada.account(), id, { member: cy.id, role: 'owner' })
    for (let i = 0; i < 8; i++) await rotateNow(ada.device(), ada.account(), id)
    const after = seen.restart(inSmallPages)
    await synced(after)
    assert.deepEqual(rememberedRoster(after.state, id)!.roster.entries, before)
  })
})
