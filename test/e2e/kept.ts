/**
 * Reads the data of an account server and of devices on disk, as an attacker with the disk would.
 */
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { readKeys } from '../../src/device/identity/own-keys.ts'
import { openVault } from '../../src/device/identity/vault.ts'
import { fileKeychain, findKey } from '../../src/keychain/file.ts'
import { openState } from '../../src/state/state.ts'
import { wordsFrom } from './peer.ts'

/** Returns the content of all files under a folder, or of those with these names. */
export function filesIn(folder: string, isMeant = (_name: string) => true): Buffer[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && isMeant(entry.name))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name)))
}

/** Returns a value of a column, or any other value, as bytes. */
export const bytesOf = (value: unknown): Buffer =>
  Buffer.isBuffer(value)
    ? value
    : Buffer.from(typeof value === 'string' ? value : JSON.stringify(value))

/** Returns every column of every row of a database, and the files of PostgreSQL. */
export async function databaseAt(url: string): Promise<{ tables: Buffer[]; files: Buffer[] }> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows: names } = await client.query<{ name: string }>(
      `select format('%I.%I', table_schema, table_name) as name from information_schema.tables
       where table_schema not in ('pg_catalog', 'information_schema')`,
    )
    const tables: Buffer[] = []
    for (const { name } of names) {
      const { rows } = await client.query<Record<string, unknown>>(`select * from ${name}`)
      tables.push(...rows.flatMap((row) => Object.values(row).map(bytesOf)))
    }
    await client.query('checkpoint')
    const { rows } = await client.query<{ folder: string }>(
      `select setting as folder from pg_settings where name = 'data_directory'`,
    )
    const folder = rows[0]?.folder ?? assert.fail('PostgreSQL hides its folder')
    // With the write-ahead log, which has deleted rows.
    return { tables, files: filesIn(folder) }
  } finally {
    await client.end()
  }
}

/**
 * Returns the secrets of a device that was stopped: its private keys and the secrets of its
 * connections and guest codes.
 */
export async function secretsIn(stateDir: string) {
  const state = openState(stateDir)
  try {
    const keychain = fileKeychain(stateDir, findKey(stateDir, null) ?? assert.fail('no key file'))
    const vault = openVault(keychain, state.secrets)
    const keys = (await readKeys(state, keychain)) ?? assert.fail('no keys')
    const secrets = state.secrets.ids().map((id) => ({
      id,
      k: vault.get(id) ?? assert.fail(`nothing sealed under ${id}`),
      connection: state.connections.get(id),
    }))
    const { sign, auth, seals } = keys
    const privateKeys = [
      ['sign', sign.secret] as const,
      ['auth', auth.secret] as const,
      ...[...seals].map(([kid, secret]) => [`seal ${kid}`, secret] as const),
    ]
    return { keys, privateKeys, secrets }
  } finally {
    state.close()
  }
}

type Secrets = Awaited<ReturnType<typeof secretsIn>>

/** Yields the words of a secret for both sides in some minutes. */
export function* wordsOf(
  { id, k, connection }: Secrets['secrets'][number],
  accounts: readonly string[],
  windows: readonly number[],
): Generator<{ name: string; words: string }> {
  const code =
    connection === null
      ? { label: 'guest' as const, speakers: [id, ...accounts] }
      : {
          label: 'code' as const,
          speakers: accounts,
          epoch: connection.epoch,
          head: connection.head,
        }
  const { speakers, ...how } = code
  for (const speaker of speakers)
    for (const window of windows) {
      const words = wordsFrom({ ...how, k, subject: id, speaker, window })
      yield { name: `${id}, epoch ${connection?.epoch ?? 1}, ${speaker} in ${window}`, words }
    }
}
