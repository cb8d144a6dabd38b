/**
 * API tokens of this device.
 *
 * A token is shown once and stored as its SHA-256. Its rights (its record) are in the keychain.
 * The state database maps hash → id and stores revocation and last use, so that editing the
 * database cannot widen a token.
 *
 * The order of writes makes a crash harmless. A new token is first in the keychain, then a row; a
 * revocation is first in the row. The database records in advance that a token is being made, so
 * that a keychain entry left by a crash can be found.
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
import type { Scope, AccessLevel } from './scopes.ts'

/** The holder of a valid token. */
export interface Caller {
  /** The id of the token; null for the command line, which no list contains. */
  readonly token: string | null
  readonly scope: AccessLevel
  /**
   * The account of a machine account's token, which the account server issued.
   *
   * It is null for the tokens of this daemon.
   */
  readonly machine: MachineAccount | null
}

/** An account, for requests with one of its tokens. */
export type MachineAccount = Account & {
  /** The same account, with every request part of one operation, however often it is sent. */
  readonly acting?: (act: Act) => Account
}

/** The record of a token in the keychain. Times are Unix milliseconds. */
interface TokenRecord {
  readonly hash: string
  readonly name: string
  readonly label: string | null
  readonly scope: Scope
  /** The account it was made under; null if none was signed in. */
  readonly account: string | null
  readonly created_at: number
  readonly expires_at: number | null
  /** Absent while the token is not revoked. */
  readonly revoked_at?: number
}

interface Entry {
  readonly id: string
  record: TokenRecord | null
  revokedAt: number | null
  lastUsedAt: number | null
  used: boolean
}

interface NewTokenInput {
  readonly name: string
  readonly scope: Scope
  readonly label?: string | null | undefined
  /** Seconds. */
  readonly expires_in?: number | null | undefined
}

export interface Tokens {
  /** Makes a token and returns it. It is not shown again. */
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
   * Returns the tokens of the signed-in account, or all if none is signed in.
   *
   * Newest first, including revoked and expired ones.
   */
  list(): ApiToken[]
  /**
   * Rejects a token from the next request on. Repeating it changes nothing.
   * @throws AppError not_found
   */
  revoke(id: string): void
  /**
   * Returns the caller of a token.
   * @param digest the token's SHA-256 in hex, if already computed
   * @throws AppError invalid_token, with the same message for every reason
   */
  authenticate(token: string, digest?: string): Caller
  /**
   * Returns when a token expires, in Unix milliseconds, or null.
   * @throws AppError keychain_locked
   */
  expiryOf(id: string): number | null
  /** Drops all tokens from memory, after their rows and entries were deleted. */
  forget(): void
  /** Stores when tokens were last used. Called periodically, and before the end. */
  flush(): void
}

/** Returns the SHA-256 of a token in hex, by which it is looked up. */
export const tokenDigest = (token: string): string => hash('sha256', token, 'hex')

/**
 * Returns the error for an invalid token, with the same message for every reason.
 * @param command makes another token of this kind
 */
export const invalidToken = (command = 'token create') =>
  new AppError(
    'invalid_token',
    `This token is wrong, expired or revoked. Create another with "countersignd ${command}".`,
    // RFC 6750 section 3.1
    { headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' } },
  )

/**
 * Opens the tokens of this device.
 * @param options `commandLineToken` derives the token of the command line for this run of the
 *   daemon; `account` returns the id of the signed-in account, or null
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
    })

  function remember(tokenHash: string, entry: Entry): void {
    byHash.set(tokenHash, entry)
    byId.set(entry.id, entry)
  }

  /** Deletes the keychain entry of a token that was not completed. It is valid for nothing. */
  function sweep(): void {
    const id = rows.begun()
    if (id === null) return
    keychain.delete(tokenEntry(id))
    rows.giveUp()
  }

  try {
    sweep()
  } catch {
    // The keychain is locked or the disk is full. The next `mint` tries again.
  }

  function recordOf(entry: Entry): TokenRecord {
    if (entry.record !== null) return entry.record
    const stored = keychain.get(tokenEntry(entry.id))
    if (stored === null)
      throw new AppError(
        'keychain_locked',
        `The keychain has no entry for token ${entry.id}. Unlock the keychain, or revoke the token and create another.`,
      )
    entry.record = JSON.parse(stored) as TokenRecord
    // The database may be a restored copy from before the revocation.
    entry.revokedAt ??= entry.record.revoked_at ?? null
    return entry.record
  }

  /**
   * Checks whether a token belongs to another account than the signed-in one.
   *
   * A token is valid for the account that it was made under, or for none if there was none. While
   * no account is signed in it can still read the state of the daemon.
   */
  const isOfAnother = (record: TokenRecord) => account() !== null && record.account !== account()

  /**
   * Checks whether a token can be listed. A revoked one may lack its keychain entry, and must not
   * make the list fail.
   */
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
      // Without its keychain entry the token cannot be used, so there is nothing to revoke there.
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
