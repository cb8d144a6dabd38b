/** The connections of the account, kept current by events. */
import { useEffect } from 'preact/hooks'
import { allItems, api, ApiFailure, dataOf, type Schemas } from './api.ts'
import { onLiveEvent } from './live.ts'
import { useResource, type Resource } from './resource.ts'

type Connections = ReadonlyMap<string, Schemas['Connection']>

/** If more connections than this change at once, all are read again. */
const MOST_SINGLE = 20
/** How long changed connections are collected before they are read, in milliseconds. */
const COLLECT_MS = 50

const readConnections = async (): Promise<Connections> => {
  const all = await allItems((query) =>
    dataOf(api.GET('/api/v1/connections', { params: { query } })),
  )
  return new Map(all.map((one) => [one.id, one]))
}

/** Reads one connection; null if this account does not have it. */
export async function connectionWithId(id: string): Promise<Schemas['Connection'] | null> {
  try {
    return await dataOf(api.GET('/api/v1/connections/{id}', { params: { path: { id } } }))
  } catch (error) {
    if (error instanceof ApiFailure && error.code === 'not_found') return null
    throw error
  }
}

/**
 * Returns all connections by id. After an event about a connection only that one is read again,
 * because there may be thousands.
 */
export function useAllConnections(): Resource<Connections> {
  const all = useResource('connections', readConnections, [])
  useEffect(() => {
    const changed = new Set<string>()
    let timer = 0
    const readChanged = async () => {
      const ids = [...changed]
      changed.clear()
      if (ids.length > MOST_SINGLE) return all.reload()
      try {
        const read = await Promise.all(
          ids.map(async (id) => [id, await connectionWithId(id)] as const),
        )
        all.change((before) => {
          const after = new Map(before)
          for (const [id, one] of read)
            if (one === null) after.delete(id)
            else after.set(id, one)
          return after
        })
      } catch {
        // Reading everything shows why it fails.
        await all.reload()
      }
    }
    const end = onLiveEvent(['connection.*', 'member.*', 'invitation.*'], ({ data }) => {
      const id = data['connection_id']
      if (typeof id !== 'string') return
      changed.add(id)
      clearTimeout(timer)
      timer = window.setTimeout(() => void readChanged(), COLLECT_MS)
    })
    return () => {
      clearTimeout(timer)
      end()
    }
  }, [all])
  return all
}
