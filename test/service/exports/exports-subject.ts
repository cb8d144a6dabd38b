/** Helpers that request, await and read exports. */
import assert from 'node:assert/strict'
import type { Account } from '../../../src/api/port.ts'
import type { Export } from '../../../src/api/rest/account.ts'
import type { Content } from '../../../src/api/route.ts'
import { newId } from '../../../src/crypto/encoding/id.ts'
import type { Schema } from '../../../src/service/db/schema.ts'
import type { AccountServer } from '../../../src/service/service.ts'
import { type ServiceDatabase, openServiceDatabase } from '../database.ts'
import type { Place } from '../subject.ts'
import { unzip } from './unzip.ts'
import { until } from '../../until.ts'

type Exports = Pick<Account, 'exports'>

/** Returns the newest export of an account. */
export const newest = async ({ exports }: Exports): Promise<Export> =>
  (await exports.list({ limit: 1 })).items[0] ?? assert.fail('there is no export')

/** Returns the newest export once it is in this state. Fails if the export failed. */
export const exportIn = (account: Exports, state: Export['state']): Promise<Export> =>
  until(`an export that is ${state}`, async () => {
    const one = await newest(account)
    if (one.state === state) return one
    assert.notEqual(one.state, 'failed', String(one.error))
    return undefined
  })

/** Requests an export and returns it when it is ready. */
export async function exported(account: Exports): Promise<Export> {
  const { id } = await account.exports.create({})
  const ready = await exportIn(account, 'ready')
  assert.equal(ready.id, id)
  return ready
}

/** The parts of a download link. */
export interface Link {
  readonly id: string
  readonly expires: string
  readonly holder: string
  readonly signature: string
}

export async function linkTo(account: Exports, id: string): Promise<Link> {
  return partsOf((await account.exports.download({ id })).url)
}

export function partsOf(url: string): Link {
  const { pathname, searchParams } = new URL(url)
  const [expires, holder, signature] = ['expires', 'holder', 'signature'].map(
    (name) => searchParams.get(name) ?? '',
  ) as [string, string, string]
  return { id: /^\/exports\/(\w+)$/.exec(pathname)![1]!, expires, holder, signature }
}

export const fetchFile = (service: Pick<AccountServer, 'open'>, link: Link): Promise<Content> =>
  service.open.exportFiles.read(link, { key: null })

/** Returns the bytes of a file. */
export async function bytesOf({ body }: Content): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of body as AsyncIterable<Uint8Array>) pieces.push(piece)
  return Buffer.concat(pieces)
}

/** Returns the files of the newest export, by name. */
export async function filesOf(
  service: Pick<AccountServer, 'open'>,
  account: Exports,
): Promise<Map<string, string>> {
  const { id, size_bytes } = await newest(account)
  const bytes = await bytesOf(await fetchFile(service, await linkTo(account, id)))
  assert.equal(bytes.length, size_bytes)
  return unzip(bytes)
}

/** Runs queries on the database of a server, while the server runs. */
export async function beside<T>(
  place: Place,
  use: (db: ServiceDatabase['db']) => Promise<T>,
): Promise<T> {
  const { db, close } = await openServiceDatabase(place)
  try {
    return await use(db)
  } finally {
    await close()
  }
}

/** Returns the number of stored parts of files. */
export const partsIn = (place: Place): Promise<number> =>
  beside(place, async (db) => {
    const { count } = await db
      .selectFrom('export_parts')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    return count
  })

/** Returns the row of an export as another server, or an earlier time, left it. */
export const exportRow = (
  account: string,
  at: number,
  more: Partial<Schema['exports']>,
): Schema['exports'] => ({
  id: newId('exp_', at),
  account_id: account,
  state: 'queued',
  progress: 0,
  size_bytes: null,
  error: null,
  builder: null,
  builder_until: null,
  created_at: at,
  finished_at: null,
  expires_at: null,
  ...more,
})
