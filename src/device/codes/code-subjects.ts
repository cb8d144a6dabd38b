/** Connections and guest codes as their words see them. The state is what they are; nothing is remembered here. */
import type { ExternalMemberName } from '../../api/rest/guest-codes.ts'
import type { Reason } from '../../api/rest/verify.ts'
import { LABEL, ZERO_HEAD, codeKey } from '../../crypto/code.ts'
import { PREFIX, parseId } from '../../crypto/encoding/id.ts'
import type { Hold } from '../../state/connections.ts'
import type { GuestRow } from '../../state/guests.ts'
import type { State } from '../../state/state.ts'
import type { Vault } from '../identity/vault.ts'

/** Why the words of a subject that is known cannot be checked. */
export type Lack = Extract<Reason, 'secret_missing' | Hold>

export interface Speaker {
  readonly id: string
  readonly bytes: Uint8Array
  readonly self: boolean
  readonly name: string
}

/** A connection, or a guest code that was not ended. */
export interface Subject {
  readonly kind: 'connection' | 'guest'
  readonly id: string
  readonly bytes: Uint8Array
  readonly name: string
  readonly epoch: number
  readonly head: Uint8Array
  readonly hold: Hold | null
  readonly speakers: readonly Speaker[]
  /** Whom a guest code is for; null for none, and for a connection. */
  readonly externalMember: ExternalMemberName | null
  /** Unix milliseconds; null for a connection, which does not end by itself. */
  readonly expiresAt: number | null
}

/**
 * Read a connection or a guest code; null when it is not here, or ended.
 * @param account the own account id
 */
export function readSubject(state: State, account: string, id: string): Subject | null {
  return id.startsWith(PREFIX.connection)
    ? readConnection(state, account, id)
    : readGuest(state, account, id)
}

const accountSpeaker = (id: string, name: string, own: string): Speaker => ({
  id,
  bytes: parseId(PREFIX.account, id),
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
    bytes: parseId(PREFIX.connection, id),
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
  const bytes = parseId(PREFIX.guest, id)
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
 * The code key of a subject, for the caller to wipe; null where its secret is not on this device. A record that is damaged is a
 * secret that is not here: it must not keep the others from being checked.
 * @throws AppError keychain_locked, not_signed_in
 */
export function readCodeKey(vault: Vault, subject: Subject): Uint8Array | null {
  const key = vault.find(subject.id)
  if (key === null) return null
  const { kind, bytes, epoch, head } = subject
  const kc = codeKey({ label: LABEL[kind], key, subject: bytes, epoch, head })
  key.fill(0)
  return kc
}

/**
 * The code key by which the words of a subject are checked, for the caller to wipe, or why there is
 * none. Of a connection that was ended nothing has to be checked: without its secret, neither.
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
