/**
 * Inserts thousands of accounts into PostgreSQL at once. Each has a device, a key log that
 * verifies, and a typical amount of other data.
 */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import pg from 'pg'
import { accountIdOf, rawKeys, sealKeyId } from '../src/crypto/device-public-keys.ts'
import { newId } from '../src/crypto/encoding/id.ts'
import { type PublicJwk, thumbprint } from '../src/crypto/jose/jwk.ts'

/** The largest number of live mailed codes with which the server still sends another one. */
const MAILED = 900

/** Returns the mailbox of the account of this number. */
export const addressOf = (n: number) => `person-${n}@example.org`

/**
 * Returns a public key and its private key. OpenSSL is a hundred times as fast as the library
 * that browsers need.
 */
function newKey() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  return { jwk: { kty: 'OKP', crv: 'Ed25519', x } as PublicJwk, privateKey }
}

/**
 * Returns an account with its first device and the entry of its key log. `at` is in Unix
 * milliseconds.
 */
export function newRow(at: number) {
  const device = newId('dev_', at)
  const [own, auth] = [newKey(), newKey()]
  // No secret is sealed to it: these are as many bytes as a key has.
  const keys = { sign: own.jwk, seal: sealKeyId(randomBytes(1216)), auth: auth.jwk }
  const salt = randomBytes(32)
  const account = accountIdOf(rawKeys(keys), salt)
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = { alg: 'Ed25519', typ: 'keylog+jws', kid: thumbprint(own.jwk) }
  const payload = {
    v: 2,
    account,
    seq: 0,
    prev: Buffer.alloc(32).toString('base64url'),
    op: 'add',
    device,
    keys,
    salt: salt.toString('base64url'),
    by: device,
    at: Math.floor(at / 1000),
  }
  const signed = `${part(header)}.${part(payload)}`
  const signature = sign(null, Buffer.from(signed), own.privateKey).toString('base64url')
  return { account, device, kid: thumbprint(auth.jwk), entry: `${signed}.${signature}` }
}

export type Row = ReturnType<typeof newRow>

/**
 * SQL that derives the other rows of each account from the rows above. Columns that no measured
 * query reads are filled with text of a realistic length.
 */
const FILL = (at: number) => {
  const soon = at + 3_600_000
  const filler = (length: number) => `repeat('x', ${length})`
  const n = `row_number() over (order by accounts.id)`
  return [
    `insert into emails select 'person-' || ${n} - 1 || '@example.org', id, 1, ${at} from accounts`,
    `insert into sessions (id, account_id, device_id, refresh_hash, created_at, last_seen_at, proven)
      select 'ses_' || substr(id, 5), account_id, id, md5('refresh' || id), ${at}, ${at}, 1 from devices`,
    `insert into access_tokens select md5('access' || id), id, ${soon} from sessions`,
    `insert into used_proofs select md5('proof' || id || i), ${soon} from accounts, generate_series(1, 5) as i`,
    `insert into idempotency select id, 'key', md5(id), ${filler(800)}, ${at} from sessions`,
    `insert into connections select 'con_' || substr(id, 5), 1, ${at} from accounts`,
    `insert into memberships select id, 'con_' || substr(id, 5), 'owner', 'A friend', 0, ${at} from accounts`,
    // The next account is also a member of each connection.
    `insert into memberships select lead(id) over (order by id), 'con_' || substr(id, 5), 'member', 'A friend', 0, ${at}
      from accounts order by id limit (select count(*) - 1 from accounts)`,
    `insert into roster_entries select id, 0, ${filler(900)} from connections`,
    `insert into envelopes select connections.id, 1, devices.id, ${filler(900)}
      from connections join memberships on connection_id = connections.id join devices using (account_id)`,
    `insert into guest_codes select 'gst_' || substr(id, 5), id, 'A guest', ${soon}, null, null, ${at} from accounts`,
    `insert into stamps select 'stm_' || substr(id, 5), id, ${n}, ${filler(900)}, ${filler(600)} from accounts`,
    `insert into verifications select id, 'ver_' || lpad(i::text, 26, '0'), ${filler(300)}
      from accounts, generate_series(1, 10) as i`,
  ]
}

const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** Returns the four letters that identify an enrolment code. */
const locatorOf = (n: number) =>
  [15, 10, 5, 0].map((shift) => LETTERS.charAt((n >> shift) & 31)).join('')

/**
 * Inserts accounts into an empty database of this program's version. `at` is now, in Unix
 * milliseconds.
 */
export async function fill(url: string, rows: readonly Row[], at: number): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  const insert = (table: string, columns: Record<string, readonly unknown[]>) => {
    const of = Object.keys(columns)
    // The type of each column is the table's.
    const typed = of.map((_, i) => `$${i + 1}::text[]`)
    const cast = of.map((name) => (/_at$|^tries$/.test(name) ? `${name}::bigint` : name))
    return client.query(
      `insert into ${table} (${of.join(', ')}) select ${cast.join(', ')} from unnest(${typed.join(', ')}) as r (${of.join(', ')})`,
      Object.values(columns) as unknown[],
    )
  }
  const every = (value: string) => rows.map(() => value)
  const accounts = rows.map(({ account }) => account)
  await insert('accounts', {
    id: accounts,
    kind: every('person'),
    display_name: rows.map((_, i) => `Person ${i}`),
  })
  await insert('devices', {
    id: rows.map(({ device }) => device),
    account_id: accounts,
    name: every('laptop'),
    platform: every('linux'),
    auth_kid: rows.map(({ kid }) => kid),
    created_at: every(String(at)),
    approved_at: every(String(at)),
  })
  await client.query(
    `insert into key_log_entries select account, 0, entry, ${at} from unnest($1::text[], $2::text[]) as r (account, entry)`,
    [accounts, rows.map(({ entry }) => entry)],
  )
  await client.query(
    `insert into enrolment_codes (locator, secret_hash, email, tries, expires_at)
      select locator, md5(locator), email, 0, ${at + 3_600_000} from unnest($1::text[], $2::text[]) as r (locator, email)`,
    [rows.map((_, i) => locatorOf(i)), rows.map((_, i) => (i < MAILED ? addressOf(i) : null))],
  )
  for (const text of FILL(at)) await client.query(text)
  await client.query('analyze')
  await client.end()
}
