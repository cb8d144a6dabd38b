/** The streams of hints: a device keeps one open, and syncs when it reports a change. */
import type { Kysely } from 'kysely'
import { EVENT_STREAM } from '../../api/event-stream.ts'
import type { Service } from '../../api/port.ts'
import { AppError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { ServiceContext } from '../context.ts'
import type { Channel } from '../db/channel.ts'
import type { Schema } from '../db/schema.ts'
import { activeMachines } from '../devices/machines.ts'
import { type Announcements, newAnnouncements } from './announcements.ts'
import { newHub } from './hub.ts'

/** Returns those of some sessions that may still be used. */
async function liveSessions(db: Kysely<Schema>, ids: readonly string[]): Promise<Set<string>> {
  const rows = await db
    .selectFrom('sessions')
    .innerJoin('devices', 'devices.id', 'device_id')
    .innerJoin('accounts', 'accounts.id', 'sessions.account_id')
    .select('sessions.id')
    .where('sessions.id', 'in', ids)
    .where('revoked_at', 'is', null)
    .where((is) =>
      is.or([
        is('kind', '<>', 'machine'),
        is('sessions.account_id', 'in', activeMachines(db).select('machines.account_id')),
      ]),
    )
    .execute()
  return new Set(rows.map(({ id }) => id))
}

/** The streams of hints of one server process. */
export interface Hints {
  readonly answers: Service['hints']
  /** Ends all streams. Devices then open them at another replica, or ask again after a while. */
  readonly close: () => void
  readonly source: Announcements['source']
}

/**
 * Creates the streams of hints.
 * @param channel of the database; null if only this process uses it
 */
export function newHints(
  { db, isDraining }: Pick<ServiceContext, 'db' | 'isDraining'>,
  { channel, log, signal }: { channel: Channel | null; log: Log; signal: AbortSignal },
): Hints {
  const hub = newHub()

  /** Ends the streams of the ended sessions of accounts. */
  async function recheck(accounts: readonly string[]): Promise<void> {
    const streams = accounts.flatMap((account) => hub.of(account))
    if (streams.length === 0) return
    try {
      const live = await liveSessions(
        db,
        streams.map(({ session }) => session),
      )
      for (const stream of streams) if (!live.has(stream.session)) stream.end()
    } catch (cause) {
      // It is not known which sessions are valid. A device with a valid one opens a new stream.
      if (!signal.aborted) log('warn', 'could not check the sessions of streams', { cause })
      for (const stream of streams) stream.end()
    }
  }

  const { opening, source } = newAnnouncements({ db, channel, hub, recheck, log, signal })
  return {
    close: () => hub.close(),
    source,
    answers: {
      follow: async (_, { account, session }) => {
        if (session === null)
          throw new AppError('forbidden', 'Only a device with a session can follow its changes.')
        if (isDraining())
          throw new AppError('backend_unavailable', 'This server is shutting down.', {
            headers: { 'Retry-After': '1' },
          })
        const stream = hub.open({ account, session })
        try {
          // Both only after the stream is known, so that nothing between the two is missed.
          await opening(account)
          await recheck([account])
        } catch (error) {
          stream.end()
          throw error
        }
        return { type: EVENT_STREAM, body: stream.body }
      },
    },
  }
}
