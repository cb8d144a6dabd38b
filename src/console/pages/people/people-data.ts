/** What the list of people is made of, kept current by events. */
import { useEffect } from 'preact/hooks'
import { allItems, api, ApiFailure, dataOf, type Schemas } from '../../data/api.ts'
import { isOfType, onLiveEvent } from '../../data/live.ts'
import { useResource, type Resource } from '../../data/resource.ts'
import type { NewestChecks } from './people-rows.ts'

/** The largest page of a list. */
const LIMIT = 200
/** How many pages of the verification log are read. */
const LOG_PAGES = 5
/** If more connections than this change at once, all are read again. */
const MOST_SINGLE = 20
/** How long changed connections are collected before they are read, in milliseconds. */
const COLLECT_MS = 50

type Connections = ReadonlyMap<string, Schemas['Connection']>

const readConnections = async (): Promise<Connections> => {
  const all = await allItems((page) =>
    dataOf(api.GET('/api/v1/connections', { params: { query: { limit: LIMIT, ...page } } })),
  )
  return new Map(all.map((one) => [one.id, one]))
}

/** Reads one connection; null if this account does not have it any more. */
async function readOne(id: string): Promise<Schemas['Connection'] | null> {
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
        const read = await Promise.all(ids.map(async (id) => [id, await readOne(id)] as const))
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
    const end = onLiveEvent((event) => {
      const id = event.data['connection_id']
      if (typeof id !== 'string') return
      if (!isOfType(event, ['connection.*', 'member.*', 'invitation.*'])) return
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

/** Returns all guest codes, also those that ended. */
export const useGuestCodes = () =>
  useResource(
    'guests',
    () =>
      allItems((page) =>
        dataOf(api.GET('/api/v1/guest-codes', { params: { query: { limit: LIMIT, ...page } } })),
      ),
    ['guest_code.*', 'session.*'],
  )

/** Returns all tags. */
export const useAllTags = () =>
  useResource(
    'tags',
    () =>
      allItems((page) =>
        dataOf(api.GET('/api/v1/tags', { params: { query: { limit: LIMIT, ...page } } })),
      ),
    ['session.*'],
  )

/** Returns the cards of all people that this device follows. */
export const useTrustCards = () =>
  useResource(
    'cards',
    () =>
      allItems((page) =>
        dataOf(api.GET('/api/v1/trust-cards', { params: { query: { limit: LIMIT, ...page } } })),
      ),
    ['trust.*', 'session.*'],
  )

/** Returns the invitations that this account has sent. */
export const useSentInvitations = () =>
  useResource('sent', async () => (await dataOf(api.GET('/api/v1/invitations'))).sent, [
    'invitation.*',
    'member.*',
    'session.*',
  ])

async function readChecks(): Promise<NewestChecks> {
  const entries: Schemas['LogEntry'][] = []
  let cursor: string | undefined
  for (let page = 0; page < LOG_PAGES; page++) {
    const query = { limit: LIMIT, ...(cursor === undefined ? {} : { cursor }) }
    const read = await dataOf(api.GET('/api/v1/verification-log', { params: { query } }))
    entries.push(...read.items)
    if (read.next_cursor === null) return { entries, isAll: true }
    cursor = read.next_cursor
  }
  return { entries, isAll: false }
}

/** Returns the newest checks of words, newest first. */
export const useNewestChecks = () =>
  useResource('checks', readChecks, ['verification.made', 'session.*'])
