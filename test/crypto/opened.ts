/** An account with two devices, and the connection that the first of them opened. */
import assert from 'node:assert/strict'
import { addFirst, verifyKeyLog } from '../../src/crypto/key-log-v1.ts'
import type { Reason } from '../../src/crypto/refusal.ts'
import { openEntry } from '../../src/crypto/roster.ts'
import { logEntry, newAccount, newConnection, newDevice } from './builders.ts'

export const account = newAccount()
/** The third is of nobody. */
export const [first, second, third] = [newDevice(), newDevice(), newDevice()]
export const at = 1767225600
export const begin = addFirst({ account, device: first.id, keys: first.keys, at })
export const two = [begin, logEntry(account, [begin], 'add', second, first)]
export const log = verifyKeyLog(account, two)
export const keyLogs = new Map([[account, log]])

export const connection = newConnection()
export const k = crypto.getRandomValues(new Uint8Array(32))
export const opening = { connection, actor: account, device: first.id, actorLog: log, k, at }
export const own = { kid: first.kid, seed: first.keys.sign.secret }
export const open = openEntry({ ...opening, ...own })

export const refused = (attempt: () => unknown, reason: Reason) =>
  assert.throws(attempt, { reason })
