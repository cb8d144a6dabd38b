/**
 * Named statements of PostgreSQL. PostgreSQL parses and plans a named statement once for each
 * connection; planning takes more time than most queries of this program. Each text has one name,
 * so that an equal name never belongs to another text, also behind a pooler that several servers
 * share.
 */
import { hash, randomUUID } from 'node:crypto'
import type { PostgresPool, PostgresPoolClient } from 'kysely'
import type { ClientBase, Pool, PoolClient } from 'pg'
import type { DatabaseConfig } from '../../config/database.ts'
import { measuredQueries } from '../../metrics/queries.ts'
import { isUndone, repeated } from './repeating.ts'
import { isOfStandby } from './standby.ts'

/** The maximum number of named statements in each connection. */
const MOST_NAMED = 500

/**
 * SQLSTATE of a name that this connection does not have, or that it has already. A pooler that
 * gives each transaction another connection of its own causes both.
 */
const LOST = ['26000', '42P05']
/** SQLSTATE of a statement with other columns than when it was prepared, among other errors. */
const CHANGED = '0A000'
/** The PostgreSQL function that reports such a statement. */
const CHANGED_IN = 'RevalidateCachedQuery'

type Kind = 'lost' | 'changed'

/**
 * Returns why a named statement could not be used; null for other errors. PostgreSQL reports these
 * errors before it executes anything.
 */
export function nameFault(error: unknown): Kind | null {
  const { code, routine } = (error ?? {}) as { code?: string; routine?: string }
  if (code !== undefined && LOST.includes(code)) return 'lost'
  return code === CHANGED && routine === CHANGED_IN ? 'changed' : null
}

/**
 * Returns the names of texts. A text gets its name at its second use, because a statement that is
 * used once is not worth its memory. If there are too many names, further texts get none.
 */
export function newStatementNames(most = MOST_NAMED) {
  const names = new Map<string, string>()
  const usedOnce = new Set<string>()
  const nameOf = (text: string, changes = 0) =>
    `s${changes}_${hash('sha256', text, 'base64url').slice(0, 32)}`

  return {
    /** Returns the name of a text; undefined if it has none. */
    of(text: string): string | undefined {
      const name = names.get(text)
      if (name !== undefined || names.size >= most) return name
      if (!usedOnce.delete(text)) {
        if (usedOnce.size >= most) usedOnce.clear()
        usedOnce.add(text)
        return undefined
      }
      names.set(text, nameOf(text))
      return names.get(text)
    },
    /** Gives a text another name, after a migration changed the columns of its result. */
    rename(text: string, former: string): void {
      // Other queries may have failed by the same name, and one of them renamed it.
      if (names.get(text) !== former) return
      const changes = Number(/^s(\d+)/.exec(former)?.[1]) + 1
      names.set(text, nameOf(text, changes))
    },
  }
}

/**
 * Returns whether no pooler is between a connection and PostgreSQL. A pooler is detected by the
 * process id, because it cannot send the id of a process that serves the connection only for a
 * while.
 */
export async function isDirect(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid === (client as { processID?: unknown }).processID
}

/** Returns whether a connection keeps its named statements. */
async function keepsNames(client: PoolClient): Promise<boolean> {
  if (await isDirect(client)) return true
  // A pooler that supports named statements (PgBouncer from 1.21 on) replaces their names.
  const name = `probe_${randomUUID()}`
  const text = 'select 1 from pg_prepared_statements where name = $1'
  await client.query('begin')
  try {
    const found = await client.query({ name, text, values: [name] })
    if (found.rows.length === 0) return true
    await client.query(`deallocate "${name}"`)
    return false
  } finally {
    await client.query('rollback')
  }
}

/**
 * Returns a pool for the query builder, which names the statements with parameters, and repeats a
 * statement outside a transaction that PostgreSQL undid because of another transaction.
 * @param prepare `on`: always. `off`: never. `auto`: in connections that keep their statements,
 *   until a statement was lost
 */
export function namingPool(pool: Pool, prepare: DatabaseConfig['prepare']): PostgresPool {
  const names = newStatementNames()
  const keeping = new WeakMap<PoolClient, boolean>()
  let isOff = prepare === 'off'
  const { measuredLater } = measuredQueries('postgresql')

  async function keeps(client: PoolClient): Promise<boolean> {
    if (isOff || prepare === 'on') return !isOff
    const found = keeping.get(client) ?? (await repeated(() => keepsNames(client), isUndone))
    keeping.set(client, found)
    return found
  }

  function wrapped(client: PoolClient, isKeeping: boolean): PostgresPoolClient {
    async function attempt(text: string, values: readonly unknown[], isAlone: boolean) {
      const name = isOff || !isKeeping || values.length === 0 ? undefined : names.of(text)
      const plainly = () => client.query(text, [...values])
      if (name === undefined) return plainly()
      try {
        return await client.query({ name, text, values: [...values] })
      } catch (error) {
        const fault = nameFault(error)
        if (fault === null) throw error
        if (fault === 'changed') names.rename(text, name)
        else if (prepare === 'auto') isOff = true
        // The error has aborted a surrounding transaction, so it cannot continue.
        if (!isAlone) throw error
        return plainly()
      }
    }

    /** Whether the next request must get another connection. */
    let isUnfit = false

    async function query(text: string, values: readonly unknown[]) {
      // The status before the query: afterwards, PostgreSQL may have reported only the error.
      const isAlone = client.getTransactionStatus() === 'I'
      try {
        return await measuredLater(() =>
          isAlone
            ? repeated(() => attempt(text, values, true), isUndone)
            : attempt(text, values, false),
        )
      } catch (error) {
        isUnfit ||= isOfStandby(error)
        throw error
      }
    }

    const release = (isBroken = false) => client.release(isBroken || isUnfit)
    return { query, release } as unknown as PostgresPoolClient
  }

  return {
    connect: async () => {
      const client = await pool.connect()
      try {
        return wrapped(client, await keeps(client))
      } catch (error) {
        client.release(true)
        throw error
      }
    },
    end: () => pool.end(),
    options: pool.options,
  }
}
