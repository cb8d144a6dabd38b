/**
 * Compares both implementations on the generations of key logs.
 * They must agree on the number of generations, and on the recovery keys that begin the last
 * ones.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { publicKeys, type KeyPair } from '../../src/crypto/device-keys.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import * as first from '../../src/crypto/logs/key-log.ts'
import { vouchFor } from '../../src/crypto/logs/key-log-entries.ts'
import {
  accountOf,
  AT,
  logEntry,
  newDevice,
  newRecoveryKey,
  sign,
  type TestDevice,
} from '../crypto/builders.ts'
import { agree } from './compare.ts'
import { verifyKeyLog } from './key-log.ts'

const UNSIGNED = 240
const MOST = 256

const begun = newDevice()
const account = accountOf(begun)
const place = (log: readonly string[]) => ({
  account,
  seq: log.length,
  prev: encodeBase64url(entryHash(log.at(-1)!)),
})

/** A log, and its remaining device. */
type Log = { readonly entries: readonly string[]; readonly device: TestDevice }

const start: Log = { entries: [logEntry(account, [], 'add', begun, begun)], device: begun }

/** Returns the log with a reset, signed by a recovery key if one is given. */
function reset({ entries }: Log, key?: KeyPair): Log {
  const device = newDevice()
  const unsigned = { op: 'reset', ...place(entries) } as const
  const named = { device: device.id, keys: publicKeys(device.keys) }
  const signature = key && { recovery_sig: vouchFor({ ...unsigned, ...named }, key) }
  return {
    entries: [...entries, logEntry(account, entries, 'reset', device, device, signature)],
    device,
  }
}

/** Returns the log with resets until it has this many generations. */
function resets(log: Log, from: number, to: number, key?: KeyPair): Log {
  let now = log
  for (let generation = from; generation < to; generation++) now = reset(now, key)
  return now
}

/** Returns the log with a recovery key, named by the remaining device. */
function naming({ entries, device }: Log, { jwk }: KeyPair): Log {
  const common = { v: 2, ...place(entries), op: 'recovery', by: device.id, at: AT }
  return { entries: [...entries, sign('keylog+jws', device, { ...common, key: jwk })], device }
}

const accepted = { accept: true } as const
const refused = (reason: string) => ({ accept: false, reason }) as const

const expect = async (
  { entries }: Log,
  verdict: ReturnType<typeof refused> | typeof accepted,
): Promise<void> => {
  const found = await agree(
    () => ({ generation: first.verifyKeyLog(account, entries).generation }),
    () => ({ generation: verifyKeyLog(account, entries).states.at(-1)!.generations.length }),
    { account, entries },
  )
  assert.deepEqual({ ...verdict, ...found }, found)
}

const [paper, thief, nobody] = [newRecoveryKey(), newRecoveryKey(), newRecoveryKey()]
const owned = resets(naming(start, paper), 1, UNSIGNED)

test('a reset without the recovery key begins generation 240, and not 241', async () => {
  await expect(owned, accepted)
  await expect(reset(owned), refused('log_full'))
})

test('the recovery key begins generations 241 to 256, and not 257', async () => {
  await expect(reset(owned, paper), accepted)
  const full = resets(owned, UNSIGNED, MOST, paper)
  await expect(full, accepted)
  await expect(reset(full, paper), refused('log_full'))
  await expect(reset(full, nobody), refused('log_full'))
})

test('a key that is not in force begins none', () =>
  expect(reset(owned, nobody), refused('bad_recovery_sig')))

test('nor does a key named after an unsigned reset, if another key signed generation 1', async () => {
  const stolen = naming(owned, thief)
  await expect(stolen, accepted)
  await expect(reset(stolen, thief), refused('log_full'))
  await expect(reset(stolen, paper), accepted)
})

test('if no key signed generation 1, any key in force begins them', async () => {
  const late = naming(resets(start, 1, UNSIGNED), paper)
  await expect(reset(late, paper), accepted)
  await expect(reset(late), refused('log_full'))
})
