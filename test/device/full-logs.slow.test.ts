/** Tests logs in their last 1,000 places: the user gets a warning and what to do. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { requirePlace } from '../../src/crypto/logs/chain.ts'
import { Refusal } from '../../src/crypto/refusal.ts'
import { type Signer, leave, rotate } from '../../src/crypto/logs/roster.ts'
import { rosterFull } from '../../src/device/logs/full-logs.ts'
import { continueKeyLog } from '../../src/device/logs/key-log.ts'
import { leaveOrEnd } from '../../src/device/connections/members.ts'
import type { KnownRoster } from '../../src/device/logs/roster-cache.ts'
import { continueRoster, newSecret } from '../../src/device/connections/roster-entries.ts'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import { wayIn } from '../../src/device/session/sign-in-way.ts'
import { AppError } from '../../src/errors.ts'
import { accountOf, logEntry, newDevice } from '../crypto/builders.ts'
import { connected, worldOf } from '../world/world.ts'
import { type Call, rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

/** The last place before the final 1,000. */
const LAST = 98_999
const none = () => false

const isFull = (call: Call, remedy: RegExp) =>
  rejects('invalid_state', call, { state: 'log_full', says: remedy })

describe('a full log', () => {
  it('a roster: the error asks for a new connection', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const at = (known: KnownRoster) => ({ ...known, roster: { ...known.roster, seq: LAST } })
    const rotation = (known: KnownRoster, signer: Signer) => {
      const k = newSecret()
      return { entry: rotate({ ...at(known), k, ...signer }), k, to: none }
    }
    const signing = continueRoster(ada.device(), ada.account(), id, rotation)
    await isFull(signing, new RegExp(`"countersignd connection create".*leave ${id}`))
    // The log is not full for an entry that ends access. This one fails only because it does not
    // follow the previous entry.
    const leaving = (known: KnownRoster, signer: Signer) => {
      const entry = leave({ ...at(known), ...signer })
      return { entry, k: null, to: none }
    }
    const left = continueRoster(bob.device(), bob.account(), id, leaving)
    await assert.rejects(left, (error: AppError) => error.details?.state !== 'log_full')
  })

  it('a roster that needs a rotation: the sync reports it', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await leaveOrEnd(bob.device(), bob.account(), id)
    const full = rosterFull(id)(new Refusal('log_full', 'the log takes this op below 99000'))
    const away = ada.restart(instead('rosters', 'append', () => () => Promise.reject(full)))
    const { error } = await away.device().sync.run('request')
    assert.match(error ?? '', /is full. .*"countersignd connection create"/)
  })

  it('a key log: the error asks for another account', async (t) => {
    const { ada } = await worldOf(t, 'ada')
    const signing = continueKeyLog(ada.state, ada.account(), ada.id, () => {
      requirePlace(LAST + 1, false)
      return null
    })
    await isFull(signing, /sign in with another mailbox/)
  })

  it('a key log of 240 generations: the recovery key can reset it once more', async () => {
    const first = newDevice()
    const account = accountOf(first)
    const key_log = [logEntry(account, [], 'add', first, first)]
    for (let generation = 1; generation < 240; generation++) {
      const device = newDevice()
      key_log.push(logEntry(account, key_log, 'reset', device, device))
    }
    const draft = { ...newDevice(), device: newDevice().id, way: null, server: '', holder: null }
    const opens = { account_id: account, email: null, log: verifyKeyLog(account, key_log) }
    await isFull(
      () => wayIn(opens, draft, { reset: true }, 0),
      /"countersignd reset" with the words of the paper/,
    )
  })
})
