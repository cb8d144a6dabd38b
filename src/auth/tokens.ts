/**
 * The API tokens of this device.
 *
 * A token is shown once, and only its SHA-256 is stored. Its record (name, scope, expiry) is in the
 * keychain. The state database maps the hash to the token's id, and stores revocation and last use.
 * So editing the database cannot extend a token's rights.
 *
 * The order of writes makes a crash harmless. A new token is written to the keychain first, then to
 * the database. A revocation is written to the database first. Before a token is created, the
 * database records its id, so that a keychain entry left by a crash can be found.
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
  /** The id of the token; null for the command line, which has no listed token. */
  readonly token: string | null
  readonly scope: AccessLevel
  /** The account of a machine account's token; null for this daemon's own tokens. */
  readonly machine: MachineAccount | null
}

/** A machine account, to which requests with one of its tokens are sent. */
export type MachineAccount = Account & {
  /**
   * Returns the same account. All its requests belong to one operation, even if they are repeated.
   */
  readonly acting?: (act: Act) => Account
}

/** A token's record in the keychain. Times are Unix milliseconds. */
interface TokenRecord {
  readonly hash: string
  readonly name: string
  readonly label: string | null
  readonly scope: Scope
  /** The account that was signed in when the token was created; null if there was none. */
  readonly account: string | null
  readonly created_at: number
  readonly expires_at: number | null
  /** Absent if the token is not revoked. */
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
  /** Creates a token and returns it. The token cannot be read again later. */
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
   * Returns the tokens of the signed-in account; all tokens if no account is signed in.
   *
   * The order is newest first. Revoked and expired tokens are included.
   */
  list(): ApiToken[]
  /**
   * Revokes a token. The next request with it is rejected. Revoking it again changes nothing.
   * @throws AppError not_found
   */
  revoke(id: string): void
  /**
   * Returns the caller that a token authenticates.
   * @param digest the token's SHA-256 in hex, if the caller has computed it already
   * @throws AppError invalid_token, with the same message for every reason
   */
  authenticate(token: string, digest?: string): Caller
  /**
   * Returns the scope of the token with this id; null if it no longer authenticates its caller.
   * @throws AppError keychain_locked
   */
  scopeOf(id: string): Scope | null
  /**
   * Returns when a token expires, Unix milliseconds; null if it does not expire.
   * @throws AppError keychain_locked
   */
  expiryOf(id: string): number | null
  /** Drops all tokens from memory. Their rows and keychain entries must already be deleted. */
  forget(): void
  /** Stores when tokens were last used. Called periodically and at the end. */
  flush(): void
}

/** Returns the SHA-256 of a token in hex, which is the key for look-ups. */
export const tokenDigest = (token: string): string => hash('sha256', token, 'hex')

/**
 * Returns the error for an invalid token, with the same message for every reason.
 * @param command the command that creates another token of this kind
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
 * @param options `commandLineToken` derives the command line's token for this run of the daemon;
 *   `account` returns the id of the signed-in account, or null
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

  /** Deletes the keychain entry of a token that was not completed. Such a token is not valid. */
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
    // The database may be a restored copy that was made before the revocation.
    entry.revokedAt ??= entry.record.revoked_at ?? null
    return entry.record
  }

  /**
   * Checks whether a token belongs to a different account than the signed-in one.
   *
   * A token is valid only while the account that created it is signed in, or no account is. A token
   * that was created without an account is valid only while no account is signed in.
   */
  const isOfAnother = (record: TokenRecord) => account() !== null && record.account !== account()

  /** Returns the name of a token, or its id if the keychain cannot be read. */
  function nameOf(entry: Entry): string {
    try {
      return recordOf(entry).name
    } catch {
      return entry.id
    }
  }

  /**
   * Checks whether a token can be listed. If a revoked token has no keychain entry, it is left out,
   * so that the list does not fail.
   */
  const isListed = (entry: Entry) =>
    entry.revokedAt === null || entry.record !== null || keychain.get(tokenEntry(entry.id)) !== null

  const isExpired = ({ expires_at }: TokenRecord) => expires_at !== null && expires_at <= now()

  /** Returns the record of a token; null if the token no longer authenticates its caller. */
  function validRecordOf(entry: Entry): TokenRecord | null {
    if (entry.revokedAt !== null) return null
    const record = recordOf(entry)
    const isEnded = record.revoked_at !== undefined || isExpired(record) || isOfAnother(record)
    return isEnded ? null : record
  }

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
      rows.insert({ hash: record.hash, id, created_at: at }, name)
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
      rows.revoke(id, at, nameOf(entry))
      entry.revokedAt = at
      // A token without its keychain entry cannot be used, so it needs no revocation there.
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
      const record = validRecordOf(entry)
      if (record === null || record.hash !== tokenHash) throw invalidToken()
      entry.lastUsedAt = now()
      entry.used = true
      return { token: entry.id, scope: record.scope, machine: null }
    },

    scopeOf(id) {
      const entry = byId.get(id)
      return (entry && validRecordOf(entry)?.scope) ?? null
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
