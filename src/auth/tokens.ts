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
  /** Absent if the token is not bound to a key. */
  readonly bound?: Binding
}

/** What a token has that is bound to a key, for a console. */
export interface Binding {
  /** The RFC 7638 thumbprint of the key (RFC 9449 section 6). */
  readonly jkt: string
  /** The token ends after so many milliseconds without a request. */
  readonly idle_ms: number
  /** When the scope `full` becomes `write`, Unix milliseconds; null if the scope stays. */
  readonly full_until: number | null
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
  /**
   * Creates a token and returns it. The token cannot be read again later.
   * @param bound binds the token to a key; by default, it is not bound
   */
  mint(
    input: NewTokenInput,
    bound?: Binding,
  ): {
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
  /** Revokes every token that is bound to a key, and returns the ids of those that were valid. */
  revokeBound(): string[]
  /**
   * Returns the caller that a token authenticates.
   * @param digest the token's SHA-256 in hex, if the caller has computed it already; for a token
   *   that is bound to a key, its `boundDigest`
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
  /**
   * Returns when a token that is bound to a key was created, Unix milliseconds; null for any other
   * token.
   * @throws AppError keychain_locked
   */
  boundSince(id: string): number | null
  /** Drops all tokens from memory. Their rows and keychain entries must already be deleted. */
  forget(): void
  /** Stores when tokens were last used. Called periodically and at the end. */
  flush(): void
}

/** Returns the SHA-256 of a token in hex, which is the key for look-ups. */
export const tokenDigest = (token: string): string => hash('sha256', token, 'hex')

/**
 * Returns the key for look-ups of a token that is bound to a key, in hex.
 *
 * The thumbprint is part of it. So such a token is unknown as a bearer token, with another key, and
 * to earlier versions of this program, which would ignore the binding.
 */
export const boundDigest = (token: string, jkt: string): string =>
  hash('sha256', `${jkt} ${token}`, 'hex')

/** Ended tokens of consoles are deleted after this time, in milliseconds. */
const KEPT_MS = 7 * 86_400_000

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
   * that was created without an account is valid only while no account is signed in. A token that
   * is bound to a key is also not valid after its account signed out.
   */
  const isOfAnother = (record: TokenRecord) =>
    (account() !== null || record.bound !== undefined) && record.account !== account()

  /** Returns the name of a token, or its id if the keychain cannot be read. */
  function nameOf(entry: Entry): string {
    try {
      return recordOf(entry).name
    } catch {
      return entry.id
    }
  }

  const isStored = ({ id, record }: Entry) =>
    record !== null || keychain.get(tokenEntry(id)) !== null

  /**
   * Checks whether a token can be listed. If a revoked token has no keychain entry, it is left out,
   * so that the list does not fail.
   */
  const isListed = (entry: Entry) => entry.revokedAt === null || isStored(entry)

  /** Whether a token was not used for so long that it has ended. */
  const isIdle = ({ lastUsedAt }: Entry, { bound, created_at }: TokenRecord) =>
    bound !== undefined && (lastUsedAt ?? created_at) + bound.idle_ms <= now()

  const isExpired = (entry: Entry, record: TokenRecord) =>
    (record.expires_at !== null && record.expires_at <= now()) || isIdle(entry, record)

  /** Returns the scope that a token has now. */
  function scopeNow({ scope, bound }: TokenRecord): Scope {
    const until = bound?.full_until ?? null
    return until !== null && until <= now() ? 'write' : scope
  }

  /** Returns the record of a token; null if the token no longer authenticates its caller. */
  function validRecordOf(entry: Entry): TokenRecord | null {
    if (entry.revokedAt !== null) return null
    const record = recordOf(entry)
    const isEnded =
      record.revoked_at !== undefined || isExpired(entry, record) || isOfAnother(record)
    return isEnded ? null : record
  }

  /**
   * Deletes the tokens of consoles that ended long ago, of which there can be several a day.
   *
   * The audit log still has their ids.
   */
  function dropOld(): void {
    for (const entry of byId.values()) {
      if (!isStored(entry)) continue
      const { bound, created_at, hash: tokenHash } = recordOf(entry)
      if (bound === undefined || created_at > now() - KEPT_MS) continue
      sweep()
      rows.drop(entry.id)
      byHash.delete(tokenHash)
      byId.delete(entry.id)
    }
  }

  function revoke(entry: Entry): void {
    const at = entry.revokedAt ?? now()
    rows.revoke(entry.id, at, nameOf(entry))
    entry.revokedAt = at
    // A token without its keychain entry cannot be used, so it needs no revocation there.
    if (!isListed(entry)) return
    entry.record = { ...recordOf(entry), revoked_at: at }
    keychain.set(tokenEntry(entry.id), JSON.stringify(entry.record))
  }

  return {
    mint({ name, scope, label = null, expires_in = null }, bound) {
      const at = now()
      const id = newId('tok_', at)
      const token = newToken('csd_')
      const expiresAt = expires_in === null ? null : at + expires_in * 1000
      const record = {
        hash: bound === undefined ? tokenDigest(token) : boundDigest(token, bound.jkt),
        name,
        label,
        scope,
        account: account(),
        created_at: at,
        expires_at: expiresAt,
        ...(bound === undefined ? {} : { bound }),
      }
      if (bound !== undefined) dropOld()
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
            scope: scopeNow(record),
            bound: record.bound !== undefined,
            created_at: timeAt(record.created_at),
            expires_at: record.expires_at === null ? null : timeAt(record.expires_at),
            state:
              entry.revokedAt !== null
                ? ('revoked' as const)
                : isExpired(entry, record)
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
      revoke(entry)
    },

    revokeBound() {
      const valid = [...byId.values()].filter(
        (entry) => isStored(entry) && validRecordOf(entry)?.bound !== undefined,
      )
      for (const entry of valid) revoke(entry)
      return valid.map(({ id }) => id)
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
      return { token: entry.id, scope: scopeNow(record), machine: null }
    },

    scopeOf(id) {
      const entry = byId.get(id)
      const record = entry === undefined ? null : validRecordOf(entry)
      return record === null ? null : scopeNow(record)
    },

    expiryOf(id) {
      const entry = byId.get(id)
      return entry === undefined ? null : recordOf(entry).expires_at
    },

    boundSince(id) {
      const entry = byId.get(id)
      const record = entry === undefined ? null : recordOf(entry)
      return record?.bound === undefined ? null : record.created_at
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
