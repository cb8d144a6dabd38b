/**
 * The file of an export for a caller with a valid link, streamed part by part as the client reads
 * it.
 */
import type { Kysely } from 'kysely'
import type { Open } from '../../api/port.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { AppError } from '../../errors.ts'
import { newDownloadLinks } from './download-links.ts'
import type { ServiceContext } from '../context.ts'
import type { Schema } from '../db/schema.ts'

/**
 * One error for a link that is wrong or expired and for a deleted file: it does not reveal which.
 */
const noSuchFile = () =>
  new AppError(
    'not_found',
    'There is no such file: the link is wrong or not good any more, or the export was deleted. Ask for a new link.',
  )

/**
 * Yields the file of an export, part by part.
 * @throws AppError `not_found` if the file is deleted meanwhile: the response is then incomplete
 */
async function* piecesOf(db: Kysely<Schema>, id: string, size: number): AsyncGenerator<Uint8Array> {
  let sent = 0
  for (let seq = 0; sent < size; seq++) {
    const part = await db
      .selectFrom('export_parts')
      .select('bytes')
      .where('export_id', '=', id)
      .where('seq', '=', seq)
      .executeTakeFirst()
    if (part === undefined) throw noSuchFile()
    sent += part.bytes.length
    yield part.bytes
  }
}

export const exportFiles = (ground: ServiceContext): Open['exportFiles'] => {
  const { db, now } = ground
  const links = newDownloadLinks(ground)
  return {
    read: async ({ id, expires, holder, signature }) => {
      const link = { id, expires, holder, signature }
      if (!isId('exp_', id) || !(await links.isGood(link))) throw noSuchFile()
      const row = await db
        .selectFrom('exports')
        .select(['account_id', 'size_bytes', 'finished_at', 'expires_at'])
        .where('id', '=', id)
        .where('state', '=', 'ready')
        .where('expires_at', '>', now())
        .executeTakeFirst()
      if (row === undefined || (await links.hasEnded(row.account_id, holder))) throw noSuchFile()
      const size = row.size_bytes as number
      const day = new Date(row.finished_at as number).toISOString().slice(0, 10)
      return {
        type: 'application/zip',
        body: piecesOf(db, id, size),
        headers: {
          'Content-Disposition': `attachment; filename="countersign-export-${day}.zip"`,
          'Content-Length': String(size),
        },
      }
    },
  }
}
