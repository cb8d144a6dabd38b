/**
 * Connections and guest codes as the subjects of words. Each call reads the state; nothing is
 * cached.
 */
import type { ExternalMemberName } from '../../api/rest/guest-codes.ts'
import type { Reason } from '../../api/rest/verify.ts'
import { type ChallengeInput, challengeReader } from '../../crypto/challenge.ts'
import { acceptedAt, codeKey, codeOf, codeReader, LABEL, ZERO_HEAD } from '../../crypto/code.ts'
import { ID_PREFIX, parseId } from '../../crypto/encoding/id.ts'
import type { Hold } from '../../state/connections.ts'
import type { GuestRow } from '../../state/guests.ts'
import type { State } from '../../state/state.ts'
import type { Vault } from '../identity/vault.ts'

/** Why the words of a stored subject cannot be checked. */
export type Lack = Extract<Reason, 'secret_missing' | Hold>

export interface Speaker {
  readonly id: string
  readonly bytes: Uint8Array
  readonly self: boolean
  readonly name: string
}

/** A connection, or an active guest code. */
export interface Subject {
  readonly kind: 'connection' | 'guest'
  readonly id: string
  readonly bytes: Uint8Array
  readonly name: string
  /** 0 for a connection that was refused when this device first listed it. */
  readonly epoch: number
  readonly head: Uint8Array
  readonly hold: Hold | null
  readonly speakers: readonly Speaker[]
  /**
   * The external member that a guest code was created for; null for other guest codes and for
   * connections.
   */
  readonly externalMember: ExternalMemberName | null
  /** When a guest code expires, Unix milliseconds; null for a connection, which does not expire. */
  readonly expiresAt: number | null
}

/**
 * Reads a connection or a guest code.
 * @param account the own account id
 * @returns null if the subject is not stored here or the guest code has ended
 */
export function readSubject(state: State, account: string, id: string): Subject | null {
  return id.startsWith(ID_PREFIX.connection)
    ? readConnection(state, account, id)
    : readGuest(state, account, id)
}

const accountSpeaker = (id: string, name: string, own: string): Speaker => ({
  id,
  bytes: parseId(ID_PREFIX.account, id),
  self: id === own,
  name,
})

function readConnection({ connections }: State, account: string, id: string): Subject | null {
  const row = connections.get(id)
  if (row === null) return null
  const { name, epoch, head, hold, members } = row
  return {
    kind: 'connection',
    id,
    bytes: parseId(ID_PREFIX.connection, id),
    name,
    epoch,
    head,
    hold,
    speakers: members.map(({ user_id, display_name }) =>
      accountSpeaker(user_id, display_name, account),
    ),
    externalMember: null,
    expiresAt: null,
  }
}

const externalMemberOf = (row: GuestRow): ExternalMemberName | null =>
  row.external_member_id === null || row.external_member_name === null
    ? null
    : { id: row.external_member_id, display_name: row.external_member_name }

function readGuest({ guests }: State, account: string, id: string): Subject | null {
  const row = guests.get(id)
  if (row?.state !== 'active') return null
  const bytes = parseId(ID_PREFIX.guest, id)
  const { label: name, expires_at: expiresAt } = row
  return {
    kind: 'guest',
    id,
    bytes,
    name,
    epoch: 1,
    head: ZERO_HEAD,
    hold: null,
    speakers: [{ id, bytes, self: false, name }, accountSpeaker(account, name, account)],
    externalMember: externalMemberOf(row),
    expiresAt,
  }
}

/**
 * Returns a subject's code key, which the caller must wipe. A damaged record counts as a missing
 * secret, so that the other subjects can still be checked.
 * @returns null if the secret or the epoch is not on this device
 * @throws AppError keychain_locked, not_signed_in
 */
export function readCodeKey(vault: Vault, subject: Subject): Uint8Array | null {
  // After a crash, the secret can be here before the connection was stored.
  if (subject.epoch === 0) return null
  const key = vault.find(subject.id)
  if (key === null) return null
  const { kind, bytes, epoch, head } = subject
  const kc = codeKey({ label: LABEL[kind], key, subject: bytes, epoch, head })
  key.fill(0)
  return kc
}

/**
 * Returns the code key for checking a subject's words. The caller must wipe the key. For a
 * connection that has ended, a missing secret is not a lack, because its words prove nothing.
 * @returns the key, or the reason why there is none
 * @throws AppError keychain_locked, not_signed_in
 */
export function keyToCheck(
  vault: Vault,
  subject: Subject,
): { readonly kc: Uint8Array | null; readonly lack: Lack | null } {
  const { hold } = subject
  if (hold !== null && hold !== 'ended') return { kc: null, lack: hold }
  const kc = readCodeKey(vault, subject)
  return { kc, lack: kc === null && hold === null ? 'secret_missing' : null }
}

/** The challenge that a listener's device drew. See `OpenChallenge`. */
export interface Answered {
  /** The index of the challenge word. */
  readonly word: number
  readonly purpose: ChallengeInput['purpose']
}

/** Returns the codes of a speaker in a window, as numbers. */
type Read = (speaker: Speaker, window: number) => number[]

function forEveryone(kc: Uint8Array): Read {
  const read = codeReader(kc)
  return ({ bytes }, window) => [codeOf(read(window, bytes))]
}

/**
 * Returns a reader of the codes that answer a challenge, one for each possible listener. Own words
 * count for every listener: a member who received them may repeat them, and they must be recognised
 * as an echo.
 */
function forListeners(kc: Uint8Array, all: readonly Speaker[], { word, purpose }: Answered): Read {
  const read = challengeReader(kc)
  return (speaker, window) =>
    all
      .filter(({ self }) => self !== speaker.self)
      .map(({ bytes: listener }) =>
        codeOf(read({ window, speaker: speaker.bytes, listener, challenge: word, purpose })),
      )
}

/**
 * Returns the speakers who have these words, and the windows in which they have them.
 * @param of `all` are the subject's speakers; `speakers` are those to check; `challenge` is null
 *   for words that are for all listeners
 */
export function spokenBy(
  of: {
    readonly kc: Uint8Array
    readonly all: readonly Speaker[]
    readonly speakers: readonly Speaker[]
    readonly challenge: Answered | null
  },
  indices: readonly number[],
  now: number,
): { readonly speaker: Speaker; readonly window: number }[] {
  const { kc, all, speakers, challenge } = of
  const read = challenge === null ? forEveryone(kc) : forListeners(kc, all, challenge)
  const code = codeOf(indices)
  return speakers.flatMap((speaker) =>
    acceptedAt(now)
      .filter((window) => read(speaker, window).includes(code))
      .map((window) => ({ speaker, window })),
  )
}
