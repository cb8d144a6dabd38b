/** The words that the user speaks to a person, and the people that the user can call. */
import { api, allItems, dataOf, type Schemas } from './api.ts'
import { now, wordWindowOf } from './clock.ts'
import { type Resource, useResource } from './resource.ts'

/** A person that the user can call: by a connection or a guest code. */
export interface PersonToCall {
  /** The id of the connection or of the guest code. */
  readonly id: string
  readonly kind: 'connection' | 'guest'
  readonly name: string
  readonly favorite: boolean
  /** The external member who has the guest code; null if there is none. */
  readonly externalMember: string | null
}

/** The events that change the people that the user can call. */
export const CALLEE_EVENTS = ['connection.*', 'member.*', 'guest_code.*'] as const

const activeConnections = () =>
  allItems((cursor) =>
    dataOf(
      api.GET('/api/v1/connections', {
        params: { query: { state: 'active', limit: 100, ...cursor } },
      }),
    ),
  )

const activeGuests = () =>
  allItems((cursor) =>
    dataOf(
      api.GET('/api/v1/guest-codes', {
        params: { query: { state: 'active', limit: 100, ...cursor } },
      }),
    ),
  )

const byFavorite = (a: PersonToCall, b: PersonToCall) =>
  Number(b.favorite) - Number(a.favorite) || a.name.localeCompare(b.name)

/** Returns all people that the user can call on this device, favourites first. */
export async function readCallees(): Promise<PersonToCall[]> {
  const [connections, guests] = await Promise.all([activeConnections(), activeGuests()])
  const ofConnections = connections
    .filter(({ secret_here }) => secret_here)
    .map(({ id, name, favorite }): PersonToCall => ({
      id,
      kind: 'connection',
      name,
      favorite,
      externalMember: null,
    }))
  const ofGuests = guests
    .filter(({ secret_here }) => secret_here)
    .map(({ id, label, external_member_id }): PersonToCall => ({
      id,
      kind: 'guest',
      name: label,
      favorite: false,
      externalMember: external_member_id,
    }))
  return [...ofConnections, ...ofGuests].toSorted(byFavorite)
}

/** Returns the number of a person as the user stored it; null if there is none. */
export async function phoneOfCallee({ externalMember }: PersonToCall): Promise<string | null> {
  if (externalMember === null) return null
  const people = await allItems((cursor) =>
    dataOf(api.GET('/api/v1/external-members', { params: { query: { limit: 100, ...cursor } } })),
  )
  return people.find(({ id }) => id === externalMember)?.phone ?? null
}

/** The words of the user for a guest. */
async function guestWords(id: string): Promise<string | null> {
  const guests = await activeGuests()
  return guests.find((guest) => guest.id === id)?.code?.words ?? null
}

async function connectionWords(id: string): Promise<string> {
  const path = { params: { path: { id } } }
  return (await dataOf(api.GET('/api/v1/connections/{id}/code', path))).words
}

/**
 * Returns the words of the user for a connection or a guest code, read again each minute. Null if
 * there are none, because the code has ended.
 */
export const useOwnWords = (id: string): Resource<string | null> =>
  useResource<string | null>(
    `${id} ${wordWindowOf(now.value)}`,
    () => (id.startsWith('gst_') ? guestWords(id) : connectionWords(id)),
    ['connection.*', 'guest_code.*'],
  )

/** Returns the words for one listener and purpose: the answer to a challenge. */
export const wordsForChallenge = (
  connection: string,
  asked: { challenge: string; purpose: string; listener?: string },
): Promise<Schemas['Code']> =>
  dataOf(
    api.GET('/api/v1/connections/{id}/code', {
      params: { path: { id: connection }, query: asked },
    }),
  )
