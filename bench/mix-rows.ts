/**
 * Makes any number of accounts in PostgreSQL with SQL alone, which is faster than requests. Their
 * rows have the sizes of real rows. All accounts have one key, so that a client can be each of
 * them.
 */
import { hash } from 'node:crypto'
import { SYNC_PARTS } from '../src/api/device/changes.ts'
import { thumbprint } from '../src/crypto/jose/jwk.ts'
import { newDeviceKeys } from '../test/crypto/keys.ts'
import { fillBy } from './fill.ts'

/** The authentication key of all accounts. */
export const KEY = newDeviceKeys().auth
const KID = thumbprint(KEY.jwk)

const DAY_MS = 24 * 3_600_000

const md5 = (text: string) => hash('md5', text, 'hex')

/** The ids and secrets of an account, by its number. SQL computes the same. */
export const personOf = (n: number) => ({
  // As a real one, it does not sort by time.
  account: `acc_0${md5(`account ${n}`).slice(0, 25)}`,
  connection: `con_${String(n).padStart(24, '0')}01`,
  token: `token-${n}`,
  refreshToken: `refresh-${n}`,
})

/** Text of a length. PostgreSQL compresses no rows below 2 kB. */
const filler = (length: number) =>
  `substr(repeat(md5('filler' || n), ${Math.ceil(length / 32)}), 1, ${length})`

const acc = (n: string) => `'acc_0' || substr(md5('account ' || (${n})), 1, 25)`
const id = (prefix: string, n: string, k = `'00'`) =>
  `'${prefix}_' || lpad((${n})::text, 24, '0') || lpad((${k})::text, 2, '0')`

/**
 * Returns the statements, in the order of the foreign keys. Account `n` opens a connection with
 * each of the next accounts, so that every account is in `connections` of them.
 * @param at now, Unix milliseconds
 */
function statements(accounts: number, connections: number, at: number): string[] {
  const opened = connections / 2
  const each = `generate_series(0, ${accounts - 1}) as n`
  const eachOpened = `${each}, generate_series(1, ${opened}) as k`
  const other = `(n + k) % ${accounts}`
  const soon = at + DAY_MS
  const before = at - DAY_MS
  const hex = (text: string) => `encode(sha256((${text})::bytea), 'hex')`
  return [
    `insert into accounts (id, kind, display_name, profile)
      select ${acc('n')}, 'person', 'Person ' || n, ${filler(355)} from ${each}`,
    `insert into emails (address, account_id, is_primary, verified_at, id)
      select 'person-' || n || '@example.org', ${acc('n')}, 1, ${before}, ${id('eml', 'n')} from ${each}`,
    `insert into devices (id, account_id, name, platform, auth_kid, created_at, approved_at, seal_key)
      select ${id('dev', 'n')}, ${acc('n')}, 'laptop', 'linux', '${KID}', ${before}, ${before}, ${filler(1622)} from ${each}`,
    `insert into sessions (id, account_id, device_id, refresh_hash, created_at, last_seen_at, proven)
      select ${id('ses', 'n')}, ${acc('n')}, ${id('dev', 'n')}, ${hex(`'refresh-' || n`)}, ${before}, ${before}, 1 from ${each}`,
    `insert into access_tokens (hash, session_id, expires_at)
      select ${hex(`'token-' || n`)}, ${id('ses', 'n')}, ${soon} from ${each}`,
    // Not zero, which is a list without a mark.
    `insert into sync_marks (account_id, made_at, ${SYNC_PARTS.join(', ')})
      select ${acc('n')}, ${before}, ${SYNC_PARTS.map(() => 'n + 1').join(', ')} from ${each}`,
    `insert into key_log_entries select ${acc('n')}, 0, ${filler(882)}, ${before} from ${each}`,
    `insert into connections (id, epoch, created_at) select ${id('con', 'n', 'k')}, 1, ${before} from ${eachOpened}`,
    `insert into memberships (account_id, connection_id, role, name, favorite, updated_at)
      select ${acc('n')}, ${id('con', 'n', 'k')}, 'owner', 'A friend', 0, ${before} from ${eachOpened}`,
    `insert into memberships (account_id, connection_id, role, name, favorite, updated_at)
      select ${acc(other)}, ${id('con', 'n', 'k')}, 'member', 'A friend', 0, ${before} from ${eachOpened}`,
    `insert into roster_entries select ${id('con', 'n', 'k')}, seq, ${filler(1186)} from ${eachOpened}, generate_series(0, 1) as seq`,
    `insert into roster_accounts (connection_id, account_hash)
      select ${id('con', 'n', 'k')}, ${hex(`${acc(other)} || side`)} from ${eachOpened}, generate_series(0, 1) as side`,
    `insert into envelopes (connection_id, epoch, recipient, envelope, sender)
      select ${id('con', 'n', 'k')}, 1, ${id('dev', 'n')}, ${filler(1814)}, ${id('dev', 'n')} from ${eachOpened}`,
    `insert into envelopes (connection_id, epoch, recipient, envelope, sender)
      select ${id('con', 'n', 'k')}, 1, ${id('dev', other)}, ${filler(1814)}, ${id('dev', 'n')} from ${eachOpened}`,
    `insert into invitations (id, connection_id, connection_name, from_account, to_account, state, consent, created_at, expires_at, consent_jws)
      select ${id('inv', 'n', 'k')}, ${id('con', 'n', 'k')}, 'A friend', ${acc('n')}, ${acc(other)}, 'approved', 2, ${before}, ${before}, ${filler(647)} from ${eachOpened}`,
    `insert into trust_cards (account_id, watched_id, created_at) select ${acc('n')}, ${acc(other)}, ${before} from ${eachOpened} where k <= 2`,
    `insert into notifications (id, account_id, kind, title, body, data, created_at)
      select ${id('ntf', 'n', 'k')}, ${acc('n')}, 'member_joined', ${filler(30)}, ${filler(87)}, '{"connection_id":"' || ${id('con', 'n', 'k')} || '","x":"' || ${filler(87)} || '"}', ${before} from ${eachOpened}`,
    `insert into verifications select ${acc('n')}, ${id('ver', 'n', 'k')}, ${filler(300)} from ${eachOpened}`,
  ]
}

/**
 * Fills an empty database of this program's version.
 * @param of `connections`: those of each account, an even number
 * @returns the size of the database in bytes
 */
export const fillWithMix = (
  url: string,
  of: { accounts: number; connections: number; at: number },
): Promise<number> => fillBy(url, statements(of.accounts, of.connections, of.at))
