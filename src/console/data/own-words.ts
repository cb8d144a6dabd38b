/** The words that the user speaks to a person, and the people that the user can call. */
import { ID_PREFIX } from '../../crypto/encoding/id.ts'
import { type AllItems, allItems, api, dataOf, type Schemas } from './api.ts'
import { thisMinute } from './clock.ts'
import { connectionWithId } from './connections.ts'
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

const isGuest = (id: string): boolean => id.startsWith(ID_PREFIX.guest)

/** Reads the guest codes that are valid now. */
export const readActiveGuests = (): Promise<AllItems<Schemas['GuestCode']>> =>
  allItems((query) =>
    dataOf(api.GET('/api/v1/guest-codes', { params: { query: { state: 'active', ...query } } })),
  )

/** Reads the guest codes that are valid now, for a component. */
export const useActiveGuests = (): Resource<AllItems<Schemas['GuestCode']>> =>
  useResource('active guests', readActiveGuests, ['guest_code.*'])

/** Returns the people that have words on this device now. */
export function calleesOf(
  connections: Iterable<Schemas['Connection']>,
  guests: readonly Schemas['GuestCode'][],
): PersonToCall[] {
  const ofConnections = [...connections]
    .filter(({ state, secret_here }) => state === 'active' && secret_here)
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
  return [...ofConnections, ...ofGuests]
}

/** Reads one person that the user can call; null if there are no words for the id. */
async function readCallee(id: string): Promise<PersonToCall | null> {
  if (isGuest(id)) {
    const guests = await readActiveGuests()
    return calleesOf([], guests).find((one) => one.id === id) ?? null
  }
  const connection = await connectionWithId(id)
  return connection === null ? null : (calleesOf([connection], [])[0] ?? null)
}

/** Reads one person that the user can call, for a component; null if there are no words. */
export const useCallee = (id: string): Resource<PersonToCall | null> =>
  useResource(id, () => readCallee(id), ['connection.*', 'member.*', 'guest_code.*'])

/** Returns the number of a person as the user stored it; null if there is none. */
export async function phoneOfCallee({ externalMember }: PersonToCall): Promise<string | null> {
  if (externalMember === null) return null
  const people = await allItems((query) =>
    dataOf(api.GET('/api/v1/external-members', { params: { query } })),
  )
  return people.find(({ id }) => id === externalMember)?.phone ?? null
}

/** The words of the user for a guest. */
async function guestWords(id: string): Promise<string | null> {
  const guests = await readActiveGuests()
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
    `${id} ${thisMinute.value}`,
    () => (isGuest(id) ? guestWords(id) : connectionWords(id)),
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

/** Whether the user has anyone to recognise: a connection or a guest code. */
export const useHasPeople = (): Resource<boolean> =>
  useResource(
    'has people',
    async () => {
      const query = { limit: 1 }
      const [connections, guests] = await Promise.all([
        dataOf(api.GET('/api/v1/connections', { params: { query } })),
        dataOf(
          api.GET('/api/v1/guest-codes', { params: { query: { ...query, state: 'active' } } }),
        ),
      ])
      return connections.items.length + guests.items.length > 0
    },
    ['connection.*', 'guest_code.*'],
  )
