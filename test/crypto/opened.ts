/** An account with two devices, and the connection that the first of them opened. */
import assert from 'node:assert/strict'
import { verifyKeyLog } from '../../src/crypto/logs/key-log.ts'
import type { RefusalReason } from '../../src/crypto/refusal.ts'
import { openEntry } from '../../src/crypto/logs/roster.ts'
import { accountOf, logEntry, newConnection, newDevice } from './builders.ts'

/** The third device belongs to no account. */
export const [first, second, third] = [newDevice(), newDevice(), newDevice()]
export const account = accountOf(first)
export const at = 1767225600
export const begin = logEntry(account, [], 'add', first, first)
export const two = [begin, logEntry(account, [begin], 'add', second, first)]
export const log = verifyKeyLog(account, two)
export const keyLogs = new Map([[account, log]])

export const connection = newConnection()
export const k = crypto.getRandomValues(new Uint8Array(32))
export const opening = { connection, actor: account, device: first.id, actorLog: log, k, at }
export const own = { kid: first.kid, seed: first.keys.sign.secret }
export const open = openEntry({ ...opening, ...own })

export const refused = (attempt: () => unknown, reason: RefusalReason) =>
  assert.throws(attempt, { reason })
