/**
 * Messages between the replicas of an account server, through PostgreSQL's `notify`. A message that
 * is sent in a transaction is delivered after the commit, to all replicas, and not if the
 * transaction is undone.
 */
import type { Kysely } from 'kysely'
import type { Client } from 'pg'
import { isDirect } from './named-statements.ts'
import type { Schema } from './schema.ts'

const NAME = 'countersign_changes'

export interface Channel {
  /** Sends messages. In a transaction, they are sent when it is committed. */
  readonly send: (db: Kysely<Schema>, texts: readonly string[]) => Promise<void>
  /**
   * Opens a connection that receives all later messages.
   * @param onEnd called once if the connection is lost
   * @returns closes the connection; `onEnd` is not called after that
   * @throws Error if the connection fails, or leads to a pooler, which delivers no messages
   */
  readonly listen: (
    onMessage: (text: string) => void,
    onEnd: () => void,
  ) => Promise<() => Promise<void>>
}

/**
 * Creates the channel of a database.
 * @param newClient returns a client that is not connected yet, and does not belong to the pool
 */
export function channelOver(newClient: () => Client): Channel {
  return {
    send: async (db, texts) => {
      const { sql } = await import('kysely')
      await sql`select pg_notify(${NAME}, text) from unnest(${texts}::text[]) as text`.execute(db)
    },

    listen: async (onMessage, onEnd) => {
      const client = newClient()
      let ends = onEnd
      const end = () => {
        ends()
        ends = () => undefined
      }
      client.on('error', end)
      client.on('end', end)
      client.on('notification', ({ payload = '' }) => onMessage(payload))
      const close = async () => {
        ends = () => undefined
        await client.end()
      }
      try {
        await client.connect()
        // A pooler would give this connection to other clients between two transactions, and they
        // would get the messages.
        if (!(await isDirect(client)))
          throw new Error('The connection leads to a pooler, which does not deliver messages.')
        await client.query(`listen ${NAME}`)
        return close
      } catch (error) {
        await close().catch(() => undefined)
        throw error
      }
    },
  }
}
