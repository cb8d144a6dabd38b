/**
 * API tokens. A token is shown once and kept as its SHA-256. What it may do (its record) lives in the keychain; the state
 * database maps hash → id and remembers revocation and last use, so that editing the database cannot widen a token.
 * Order is what makes a crash harmless: a new token is keychain, then row; a revoked one is row first. That one is being made is written
 * down before, so that what a crash leaves in the keychain can be found.
 */
import { hash } from 'node:crypto'
import type { ApiToken } from '../api/rest/api-tokens.ts'
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import { newId } from '../crypto/encoding/id.ts'
import { newToken } from '../crypto/token.ts'
import { AppError } from '../errors.ts'
import type { Keychain } from '../keychain/backend.ts'
import type { Act } from '../storage/idempotency.ts'
import { type TokenRows, tokenEntry } from '../state/tokens.ts'
import type { Scope, Standing } from './scopes.ts'

/** Whoever presents a valid token. */
export interface Caller {
  /** The token's id; null is the command line's own, which is in no list. */
  readonly token: string | null
  readonly scope: Standing
  /** The account of a machine account's token, which the account server gave out; null for the tokens of this daemon. */
  readonly machine: MachineAccount | null
}

/** An account that a token of it asks. */
export type MachineAccount = Account & {
  /** The same, where every request is a part of this act, however often it is sent. */
  readonly acting?: (act: Act) => Account
}

/** What the keychain holds of a token. Times are Unix milliseconds. */
interface TokenRecord {
  readonly hash: string
  readonly name: string
  readonly label: string | null
  readonly scope: Scope
  /** The account it was made under, or null. Absent in records of earlier programs. */
  readonly account?: string | null
  readonly created_at: number
  readonly expires_at: number | null
  /** Absent while the token is good. */
  readonly revoked_at?: number
}

interface Entry {
  readonly id: string
  record: TokenRecord | null
  revokedAt: number | null
  lastUsedAt: number | null
  used: boolean
  /** The account of a record that names none. */
  readonly legacyAccount: string | null
}

export interface NewTokenInput {
  readonly name: string
  readonly scope: Scope
  readonly label?: string | null | undefined
  /** Seconds. */
  readonly expires_in?: number | null | undefined
}

export interface Tokens {
  /** Make a token and show it, this once. */
  mint(input: NewTokenInput): {
    id: string
    name: string
    label: string | null
    scope: Scope
    created_at: string
    expires_at: string | null
    token: string
  }
  /**
   * The tokens of the account that is signed in, or all where none is: newest first, revoked and
   * expired ones included.
   */
  list(): ApiToken[]
  /** Refuse a token from the next request on. Throws AppError not_found; repeating it changes nothing. */
  revoke(id: string): void
  /**
   * Whom a token stands for; `digest` is its SHA-256 in hex, where it is at hand. Throws AppError invalid_token, in the same
   * words for every reason.
   */
  authenticate(token: string, digest?: string): Caller
  /** When a token expires, in Unix milliseconds, or null. Throws AppError keychain_locked. */
  expiryOf(id: string): number | null
  /** Know none of them any more: their rows and entries are gone. */
  forget(): void
  /** Write down when tokens were last used; called now and then, and before the end. */
  flush(): void
}

/** What a token is known by: its SHA-256 in hex. */
export const tokenDigest = (token: string): string => hash('sha256', token, 'hex')

/**
 * In the same words for every reason.
 * @param command makes another of its kind
 */
export const invalidToken = (command = 'token create') =>
  new AppError(
    'invalid_token',
    `This token is wrong, expired or revoked. Create another with "countersignd ${command}".`,
    // RFC 6750 section 3.1
    { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } },
  )

/**
 * Open the tokens of this device.
 * @param options `commandLineToken` derives the token of the command line for this run of the
 *   daemon; `account` is the id of the account that is signed in, or null
 */
export function openTokens(options: {
  keychain: Keychain
  rows: TokenRows
  now: () => number
  commandLineToken: () => string
  account: () => string | null
}): Tokens {
  const { keychain, rows, now, account } = options
  const byHash = new Map<string, Entry>()
  const byId = new Map<string, Entry>()
  let commandLineHash: string | null = null

  for (const row of rows.all())
    remember(row.hash, {
      id: row.id,
      record: null,
      revokedAt: row.revoked_at,
      lastUsedAt: row.last_used_at,
      used: false,
      legacyAccount: row.legacy_account,
    })

  function remember(tokenHash: string, entry: Entry): void {
    byHash.set(tokenHash, entry)
    byId.set(entry.id, entry)
  }

  /** What the keychain has of a token that was never made whole opens nothing, and nothing else would lead to it. */
  function sweep(): void {
    const id = rows.begun()
    if (id === null) return
    keychain.delete(tokenEntry(id))
    rows.giveUp()
  }

  try {
    sweep()
  } catch {
    // A keychain that is locked, or a full disk: before the next token is made it is tried again.
  }

  function recordOf(entry: Entry): TokenRecord {
    if (entry.record !== null) return entry.record
    const stored = keychain.get(tokenEntry(entry.id))
    if (stored === null)
      throw new AppError(
        'keychain_locked',
        `The keychain has no entry for token ${entry.id}: unlock it, or revoke the token and create another.`,
      )
    entry.record = bound(entry, JSON.parse(stored) as TokenRecord)
    // The database may have been put back to a day before the token was revoked.
    entry.revokedAt ??= entry.record.revoked_at ?? null
    return entry.record
  }

  /** Adds the account to a record of an earlier program: the database no longer decides it. */
  function bound({ id, legacyAccount }: Entry, record: TokenRecord): TokenRecord {
    if (record.account !== undefined) return record
    const made = { ...record, account: legacyAccount }
    keychain.set(tokenEntry(id), JSON.stringify(made))
    return made
  }

  /**
   * A token serves the account that it was made under, and no account where there was none. While
   * no one is signed in it still reads the state of the daemon.
   */
  const isOfAnother = (record: TokenRecord) => account() !== null && record.account !== account()

  /** A revoked token whose keychain entry somebody removed is nothing any more; it must not take the list with it. */
  const isListed = (entry: Entry) =>
    entry.revokedAt === null || entry.record !== null || keychain.get(tokenEntry(entry.id)) !== null

  const isExpired = ({ expires_at }: TokenRecord) => expires_at !== null && expires_at <= now()

  return {
    mint({ name, scope, label = null, expires_in = null }) {
      const at = now()
      const id = newId('tok_', at)
      const token = newToken('csd_')
      const expiresAt = expires_in === null ? null : at + expires_in * 1000
      const record = {
        hash: tokenDigest(token),
        name,
        label,
        scope,
        account: account(),
        created_at: at,
        expires_at: expiresAt,
      }
      sweep()
      rows.begin(id)
      keychain.set(tokenEntry(id), JSON.stringify(record))
      rows.insert({ hash: record.hash, id, created_at: at })
      remember(record.hash, {
        id,
        record,
        revokedAt: null,
        lastUsedAt: null,
        used: false,
        legacyAccount: null,
      })
      return {
        id,
        name,
        label,
        scope,
        created_at: timeAt(at),
        expires_at: expiresAt === null ? null : timeAt(expiresAt),
        token,
      }
    },

    list() {
      return [...byId.values()]
        .filter(isListed)
        .map((entry) => ({ entry, record: recordOf(entry) }))
        .filter(({ record }) => !isOfAnother(record))
        .map(({ entry, record }) => {
          return {
            id: entry.id,
            name: record.name,
            label: record.label,
            scope: record.scope,
            created_at: timeAt(record.created_at),
            expires_at: record.expires_at === null ? null : timeAt(record.expires_at),
            state:
              entry.revokedAt !== null
                ? ('revoked' as const)
                : isExpired(record)
                  ? ('expired' as const)
                  : ('active' as const),
            last_used_at: entry.lastUsedAt === null ? null : timeAt(entry.lastUsedAt),
          }
        })
        .toSorted((a, b) => (a.id < b.id ? 1 : -1))
    },

    revoke(id) {
      const entry = byId.get(id)
      if (entry === undefined)
        throw new AppError(
          'not_found',
          'There is no token with this id. GET /api/v1/api-tokens lists them.',
        )
      const at = entry.revokedAt ?? now()
      rows.revoke(id, at)
      entry.revokedAt = at
      // Somebody may have removed the keychain entry; then nothing is left that could be used.
      if (!isListed(entry)) return
      entry.record = { ...recordOf(entry), revoked_at: at }
      keychain.set(tokenEntry(id), JSON.stringify(entry.record))
    },

    authenticate(token, tokenHash = tokenDigest(token)) {
      const entry = byHash.get(tokenHash)
      if (entry === undefined) {
        if (tokenHash === (commandLineHash ??= tokenDigest(options.commandLineToken())))
          return { token: null, scope: 'owner', machine: null }
        throw invalidToken()
      }
      if (entry.revokedAt !== null) throw invalidToken()
      const record = recordOf(entry)
      if (record.revoked_at !== undefined || record.hash !== tokenHash || isExpired(record))
        throw invalidToken()
      if (isOfAnother(record)) throw invalidToken()
      entry.lastUsedAt = now()
      entry.used = true
      return { token: entry.id, scope: record.scope, machine: null }
    },

    expiryOf(id) {
      const entry = byId.get(id)
      return entry === undefined ? null : recordOf(entry).expires_at
    },

    forget() {
      byHash.clear()
      byId.clear()
    },

    flush() {
      const used = [...byId.values()].filter((entry) => entry.used)
      if (used.length === 0) return
      rows.touch(used.map(({ id, lastUsedAt }) => ({ id, at: lastUsedAt as number })))
      for (const entry of used) entry.used = false
    },
  }
}
