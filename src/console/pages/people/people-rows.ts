/** The rows of the list of people, each with its state and the text that a search looks in. */
import type { components } from '../../../../dist/api.d.ts'

type Schemas = components['schemas']
type Connection = Schemas['Connection']
type GuestCode = Schemas['GuestCode']
type Invitation = Schemas['Invitation']
type TrustCard = Schemas['TrustCard']

/** The newest checks of words. */
export interface NewestChecks {
  readonly entries: readonly Schemas['LogEntry'][]
  /** Whether there are no older ones. */
  readonly isAll: boolean
}

/** What is the case with a person. */
export type PersonStateKind =
  | 'ready'
  | 'waitingWords'
  | 'waitingAnswer'
  | 'approved'
  | 'alone'
  | 'newKeys'
  | 'rotating'
  | 'forked'
  | 'ended'
  | 'guestReady'
  | 'guestEndsSoon'
  | 'guestElsewhere'
  | 'guestRevoked'
  | 'guestExpired'

/** The colour of each state. The states with `warn` and `bad` are those to look at. */
export const STATE_TONES: Readonly<Record<PersonStateKind, 'ok' | 'quiet' | 'warn' | 'bad'>> = {
  ready: 'ok',
  waitingWords: 'quiet',
  waitingAnswer: 'quiet',
  approved: 'quiet',
  alone: 'quiet',
  newKeys: 'bad',
  rotating: 'warn',
  forked: 'bad',
  ended: 'quiet',
  guestReady: 'ok',
  guestEndsSoon: 'warn',
  guestElsewhere: 'quiet',
  guestRevoked: 'quiet',
  guestExpired: 'quiet',
}

/** A guest code ends soon if it ends within this time, in milliseconds. */
const SOON_MS = 3 * 86_400_000

/** When the words of a person were last right: `unknown` if older checks were not read. */
export type LastVerified = { readonly at: string } | 'never' | 'unknown'

interface RowBase {
  readonly id: string
  /** The name, as it was given. */
  readonly name: string
  readonly state: PersonStateKind
  /** The text of a search for this row, as `searchable` returns it. */
  readonly text: string
}

/** One row of the list. */
export type PersonRow =
  | (RowBase & {
      readonly kind: 'connection'
      readonly connection: Connection
      /** The other member of a direct connection; null for a group or if there is none. */
      readonly other: Schemas['Member'] | null
      /** The only open invitation of a connection without other members. */
      readonly invitation: Invitation | null
      readonly keys: TrustCard['key_status'] | 'recovered' | null
      readonly verified: LastVerified
    })
  | (RowBase & {
      readonly kind: 'guest'
      readonly guest: GuestCode
      readonly verified: LastVerified
    })
  | (RowBase & { readonly kind: 'invitation'; readonly invitation: Invitation })

/** Returns a text for comparisons: without accents, in small letters. */
export const searchable = (text: string): string =>
  text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase()

const joined = (...texts: readonly (string | null | undefined)[]): string =>
  searchable(texts.filter((text) => text !== null && text !== undefined).join('\n'))

/** Returns the name or the address of the invited person. */
export const invitedName = ({ to }: Invitation): string =>
  to.email ?? to.display_name ?? to.user_id ?? ''

const isOpen = ({ state }: Invitation) => state === 'pending' || state === 'approved'

/** Returns the open invitation of an invited member of a connection. */
export const invitationOf = (
  invitations: readonly Invitation[],
  connection: string,
  member: Schemas['Member'],
): Invitation | undefined =>
  invitations.find(
    (one) =>
      isOpen(one) &&
      one.connection_id === connection &&
      (one.id === member.id || (member.user_id !== null && one.to.user_id === member.user_id)),
  )

const isOther = ({ name_source }: Schemas['Member']) => name_source !== 'own'

/** Returns when the words of each connection and guest were last right, by id. */
function lastVerifiedOf({ entries }: NewestChecks): Map<string, string> {
  const last = new Map<string, string>()
  for (const { outcome, matches, at } of entries) {
    if (outcome !== 'verified') continue
    for (const { connection_id, guest_code_id, speaker } of matches) {
      const id = connection_id ?? guest_code_id
      // The newest come first.
      if (id !== undefined && speaker === 'other' && !last.has(id)) last.set(id, at)
    }
  }
  return last
}

/** Returns the state of a connection, the most urgent first. */
function stateOfConnection(
  connection: Connection,
  open: readonly Invitation[],
  cards: readonly TrustCard[],
): PersonStateKind {
  if (connection.state === 'ended' || connection.suspended === 'ended') return 'ended'
  if (connection.replaced_by !== null || connection.suspended === 'roster_forked') return 'forked'
  if (cards.some(({ key_status }) => key_status === 'changed_unverified')) return 'newKeys'
  if (connection.state === 'pending') {
    if (open.some(({ state }) => state === 'approved')) return 'approved'
    return open.length > 0 ? 'waitingAnswer' : 'alone'
  }
  if (connection.suspended === 'rotation_pending') return 'rotating'
  return connection.secret_here ? 'ready' : 'waitingWords'
}

/** Returns the state of a guest code at a time. */
export function stateOfGuest(guest: GuestCode, at: number): PersonStateKind {
  if (guest.state === 'revoked') return 'guestRevoked'
  const left = Date.parse(guest.expires_at) - at
  if (guest.state === 'expired' || left <= 0) return 'guestExpired'
  if (!guest.secret_here) return 'guestElsewhere'
  return left < SOON_MS ? 'guestEndsSoon' : 'guestReady'
}

/** The data of the list. */
export interface PeopleSources {
  readonly connections: Iterable<Connection>
  readonly guests: readonly GuestCode[]
  readonly invitations: readonly Invitation[]
  readonly cards: readonly TrustCard[]
  readonly tags: readonly Schemas['Tag'][]
  readonly checks: NewestChecks
}

/** Returns the items by a key. */
function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return groups
}

/**
 * Returns the rows: those with a star first, then by name.
 * @param at the time, Unix milliseconds
 * @param collator compares names in the language of the page
 */
export function peopleRows(of: PeopleSources, at: number, collator: Intl.Collator): PersonRow[] {
  const open = grouped(of.invitations.filter(isOpen), ({ connection_id }) => connection_id)
  const cards = new Map(of.cards.map((card) => [card.user_id, card]))
  const tagNames = new Map(of.tags.map(({ id, name }) => [id, name]))
  const last = lastVerifiedOf(of.checks)
  const verified = (...times: readonly (string | null | undefined)[]): LastVerified => {
    const newest = times
      .filter((time) => typeof time === 'string')
      .toSorted()
      .at(-1)
    if (newest !== undefined) return { at: newest }
    return of.checks.isAll ? 'never' : 'unknown'
  }
  const rows: PersonRow[] = []

  for (const connection of of.connections) {
    const { id, name, members, kind } = connection
    const others = members.filter(isOther)
    const sent = open.get(id) ?? []
    const invitations = members.flatMap((member) =>
      member.state === 'invited' ? (invitationOf(sent, id, member) ?? []) : [],
    )
    const known = others.flatMap(({ user_id }) => {
      const card = user_id === null ? undefined : cards.get(user_id)
      return card === undefined ? [] : [card]
    })
    // The invitation of a connection without other members is shown in its row.
    const single = connection.state === 'pending' && invitations.length === 1
    const direct = kind === 'direct' ? known[0] : undefined
    rows.push({
      kind: 'connection',
      id,
      name,
      connection,
      other: kind === 'direct' ? (others.find(({ state }) => state === 'active') ?? null) : null,
      invitation: single ? invitations[0]! : null,
      state: stateOfConnection(connection, invitations, known),
      keys:
        direct === undefined
          ? null
          : direct.recovered_at === null
            ? direct.key_status
            : 'recovered',
      verified: verified(last.get(id), direct?.last_verified_at),
      text: joined(
        name,
        ...others.map(({ display_name }) => display_name),
        ...known.map(({ own_name }) => own_name),
        ...known.map(({ note }) => note),
        ...invitations.map(invitedName),
        ...connection.tag_ids.map((tag) => tagNames.get(tag)),
      ),
    })
    if (!single)
      for (const invitation of invitations)
        rows.push({
          kind: 'invitation',
          id: invitation.id,
          name: invitedName(invitation),
          invitation,
          state: invitation.state === 'approved' ? 'approved' : 'waitingAnswer',
          text: joined(invitedName(invitation), invitation.to.display_name, name),
        })
  }

  for (const guest of of.guests)
    rows.push({
      kind: 'guest',
      id: guest.id,
      name: guest.label,
      guest,
      state: stateOfGuest(guest, at),
      verified: verified(last.get(guest.id)),
      text: joined(guest.label, guest.external_member?.display_name),
    })

  const rank = (row: PersonRow) => (row.kind === 'connection' && row.connection.favorite ? 0 : 1)
  return rows.sort((a, b) => rank(a) - rank(b) || collator.compare(a.name, b.name))
}

/** The choices of the list. */
export const PEOPLE_FILTERS = [
  'all',
  'favorites',
  'attention',
  'connections',
  'guests',
  'waiting',
  'ended',
] as const
export type PeopleFilter = (typeof PEOPLE_FILTERS)[number]

const ENDED: ReadonlySet<PersonStateKind> = new Set(['ended', 'guestRevoked', 'guestExpired'])
const WAITING: ReadonlySet<PersonStateKind> = new Set(['waitingAnswer', 'approved'])

const FITS: Readonly<Record<PeopleFilter, (row: PersonRow) => boolean>> = {
  // An ended guest code needs nothing any more; an ended connection must still be deleted.
  all: ({ kind, state }) => kind !== 'guest' || !ENDED.has(state),
  favorites: (row) => row.kind === 'connection' && row.connection.favorite,
  attention: ({ state }) => STATE_TONES[state] === 'warn' || STATE_TONES[state] === 'bad',
  connections: ({ kind, state }) => kind === 'connection' && !ENDED.has(state),
  guests: ({ kind, state }) => kind === 'guest' && !ENDED.has(state),
  waiting: ({ state }) => WAITING.has(state),
  ended: ({ state }) => ENDED.has(state),
}

/**
 * Returns the rows that contain each word of a search, and that fit the filters.
 * @param of `tag`: the id of a tag; empty for any
 */
export function foundRows(
  rows: readonly PersonRow[],
  of: { readonly search: string; readonly filter: PeopleFilter; readonly tag: string },
): PersonRow[] {
  const words = searchable(of.search)
    .split(/\s+/)
    .filter((word) => word !== '')
  const fits = FITS[of.filter]
  return rows.filter(
    (row) =>
      fits(row) &&
      (of.tag === '' || (row.kind === 'connection' && row.connection.tag_ids.includes(of.tag))) &&
      words.every((word) => row.text.includes(word)),
  )
}
