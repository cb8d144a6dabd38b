/**
 * Compares two independent implementations of protocol 2 on 10,000 random inputs.
 * The inputs are what a device checks of accounts and of other devices (places of logs, its own
 * entry, safety numbers, signed profiles and sealing keys), and of its clock.
 */
import assert from 'node:assert/strict'
import {
  type KeyLog as FirstKeyLog,
  verifyKeyLog as firstVerifyKeyLog,
  checkOwnEntry,
} from '../../src/crypto/logs/key-log.ts'
import { requireKeyLogPlace } from '../../src/crypto/logs/key-log-form.ts'
import { replaceProfile } from '../../src/crypto/logs/profile.ts'
import { requireRosterPlace } from '../../src/crypto/logs/roster-form.ts'
import { isWrong, newClockWatch } from '../../src/device/codes/clock.ts'
import type { Hit } from '../../src/device/codes/codes.ts'
import { newCertainty } from '../../src/device/codes/freshness.ts'
import * as firstSafety from '../../src/crypto/safety-number.ts'
import { newSealKey, sealTo } from '../../src/crypto/seal-key.ts'
import { checkOwn } from './approval.ts'
import { base64url, hex, sha256, unhex } from './bytes.ts'
import { checkPlace } from './chain.ts'
import { type ClockInput, clockState, isSyncStale, mayShowWords } from './clock.ts'
import { clockInput } from './clocks.ts'
import { agree, type Verdict } from './compare.ts'
import { idText } from './ids.ts'
import { type KeyLog, rootOf, verifyKeyLog } from './key-log.ts'
import { takeProfile } from './names.ts'
import { OWN_ENTRIES, ownEntry, type OwnHistory, ownHistory } from './own-entries.ts'
import { PROFILES, profile, type ProfileHistory, profileHistory } from './profiles.ts'
import { again } from './random.ts'
import { flipped, rounds } from './rounds.ts'
import { safetyNumber } from './safety-number.ts'
import { SEAL_KEYS, sealKey } from './seal-keys.ts'
import { checkSealKey } from './seal-key.ts'
import { keysJson } from './signing.ts'

const OPS = {
  roster: ['open', 'add', 'remove', 'role', 'leave', 'rotate', 'confirm', 'end'],
  keylog: ['add', 'revoke', 'reset', 'renew', 'recovery'],
} as const

const verdictName = (of: Verdict<unknown>): string => (of.accept ? 'accepted' : of.reason)

rounds('places', async (of) => {
  const seq = of.pick([98_990, 99_990, of.below(2 ** 48)]) + of.below(20)
  const [roster, keylog] = [of.pick(OPS.roster), of.pick(OPS.keylog)]
  await agree(
    () => requireRosterPlace(roster, seq),
    () => checkPlace('roster', roster, seq),
    { roster, seq },
  )
  await agree(
    () => requireKeyLogPlace(keylog, seq),
    () => checkPlace('keylog', keylog, seq),
    { keylog, seq },
  )
})

let own: OwnHistory
rounds('own entries', async (of, round) => {
  if (round % OWN_ENTRIES.length === 0) own = ownHistory(of)
  const wanted = OWN_ENTRIES[round % OWN_ENTRIES.length]!
  const { account, entries, seen, device, keys } = ownEntry(of, own, wanted)
  const found = await agree(
    () => {
      const log = firstVerifyKeyLog(account, entries, { ...seen, head: unhex(seen.head_hex) })
      return checkOwnEntry(log, { device, keys: keysJson(keys) }, seen.seq).addedAt
    },
    () => checkOwn(account, entries, seen, device, keys),
    { account, entries, seen, device, keys: keysJson(keys) },
  )
  assert.equal(verdictName(found), wanted, again)
})

rounds('safety numbers', async (of) => {
  const [account, root, otherRoot] = [of.bytes(16), of.bytes(32), of.bytes(32)]
  // One account in two differs from the other in a single bit.
  const other = of.pick([flipped(of, account, 1), of.bytes(16)])
  await agree(
    () =>
      firstSafety.safetyNumber(
        { account: idText('acc', account), root },
        { account: idText('acc', other), root: otherRoot },
      ),
    () => safetyNumber({ account, root }, { account: other, root: otherRoot }).groups.join(' '),
    [account, root, other, otherRoot].map(hex),
  )
})

let logs: { history: ProfileHistory; first: FirstKeyLog; second: KeyLog }
rounds('profiles', async (of, round) => {
  if (round % PROFILES.length === 0) {
    const history = profileHistory(of)
    const { account, entries } = history
    const [first, second] = [firstVerifyKeyLog(account, entries), verifyKeyLog(account, entries)]
    assert.equal(hex(firstSafety.rootOf(first).root), hex(rootOf(second)), again)
    logs = { history, first, second }
  }
  const wanted = PROFILES[round % PROFILES.length]!
  const { kept, next, reason } = profile(of, logs.history, wanted)
  const found = await agree(
    () => {
      const { n, name } = replaceProfile(kept, next, logs.first)
      return { n, name }
    },
    () => {
      const before = kept === null ? null : takeProfile(kept, logs.second, null)
      const { n, name } = takeProfile(next, logs.second, before)
      return { n, name }
    },
    { entries: logs.history.entries, kept, next },
  )
  assert.equal(verdictName(found), reason, `${wanted}, ${again}`)
})

rounds('sealing keys', async (of, round) => {
  const wanted = SEAL_KEYS[round % SEAL_KEYS.length]!
  const { data, reason } = sealKey(of, wanted, (await newSealKey()).publicKey)
  const hash = wanted === 'hash of another key' ? of.bytes(32) : sha256(data)
  const kid = base64url(hash)
  const found = await agree(
    async () => void (await sealTo(data, kid, new Uint8Array(0), new Uint8Array(0))),
    () => checkSealKey(data, hash),
    { data: hex(data), kid },
  )
  assert.equal(verdictName(found), reason, `${wanted}, ${again}`)
})

/** A match: only its reasons are compared. */
const HIT = { match: {}, naming: {}, isEnded: false } as Hit

/** Returns what the program makes of a clock. */
function firstByClock({ now, reading, offset, lastGoodSync, highestWindow, embedded }: ClockInput) {
  const stored = reading && {
    wall_ms: reading.wall,
    uptime_ms: reading.uptime,
    boot: reading.start,
  }
  const uptime = () => now.uptime
  const watch = newClockWatch({
    meta: { get: () => stored, set: () => assert.fail('nothing is stored') },
    clock: embedded ? 'own' : { read: () => assert.fail('nothing is measured') },
    uptime: { exact: uptime, recent: uptime },
    boot: now.start,
    syncedAt: () => (embedded ? null : lastGoodSync),
  })
  const certainty = newCertainty({
    state: { replays: { highest: () => highestWindow } },
    freshness: {
      offsetMs: () => (embedded ? 0 : offset),
      lastSyncAt: () => (embedded ? now.wall : lastGoodSync),
      clock: (at) => watch.state(at),
    },
  })
  const state = certainty.clock(now.wall)
  const { reasons = [] } = certainty.matchOf(HIT, now.wall, state)
  return {
    verifies: state !== 'behind',
    uncertain: reasons.includes('clock_uncertain'),
    stale: { match: reasons.includes('sync_stale'), none: certainty.isStale(now.wall) },
    shows: !isWrong(watch.state(now.wall)),
  }
}

rounds('clocks', async (of) => {
  const input = clockInput(of)
  await agree(
    () => firstByClock(input),
    () => ({
      verifies: clockState(input) !== 'behind',
      uncertain: clockState(input) !== 'steady',
      stale: { match: isSyncStale(input, 'match'), none: isSyncStale(input, 'none') },
      shows: mayShowWords(input),
    }),
    input,
  )
})
