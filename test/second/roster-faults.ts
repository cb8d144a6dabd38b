/** Single faults in a random roster. */
import { base64url, fromBase64url } from './bytes.ts'
import { idText } from './ids.ts'
import type { Random } from './random.ts'
import { placeOf, type RosterHistory, type RosterInput } from './roster-histories.ts'
import { type KeyPair, newKeyPair, type Payload, payloadOf, signed } from './signing.ts'

export interface FaultyRoster extends RosterInput {
  readonly fault: string
  /** The reason of the kit for it. */
  readonly reason: string
}

type Mutate = (of: RosterHistory, place: number, random: Random) => readonly string[] | null
type Change = (payload: Payload, of: RosterHistory, place: number, random: Random) => Payload | null

/** Returns the roster up to `place` with changed members in that entry; undefined removes one. */
function changed(
  of: RosterHistory,
  place: number,
  members: Payload,
  signer: KeyPair = of.signers[place]!,
  header: Payload = {},
): readonly string[] {
  const payload = { ...payloadOf(of.entries[place]!), ...members }
  return [...of.entries.slice(0, place), signed('roster+jws', payload, signer, header)]
}

const EVERY = ['open', 'add', 'remove', 'role', 'leave', 'rotate', 'confirm', 'end']
const at =
  (ops: readonly string[], change: Change): Mutate =>
  (of, place, random) => {
    const payload = payloadOf(of.entries[place]!)
    if (!ops.includes(String(payload['op']))) return null
    const members = change(payload, of, place, random)
    return members === null ? null : changed(of, place, members)
  }
/** Changes the consent, signed again by `signer` or by the device that gave it. */
const inConsent = (change: Payload, other?: (random: Random) => KeyPair): Mutate =>
  at(['add'], (payload, of, _, random) => {
    const consent = payloadOf(String(payload['consent']))
    const history = of.accounts.get(String(payload['member']))!
    const own = history.devices.get(String(consent['device']))!.sign
    const key = other?.(random) ?? own
    return { consent: signed('consent+jws', { ...consent, ...change }, key) }
  })
const seatsBefore = (of: RosterHistory, place: number) => of.seats[place - 1] ?? new Map()

const FAULTS: Readonly<Record<string, readonly [reason: string, mutate: Mutate]>> = {
  'version 1': ['wrong_version', at(EVERY, () => ({ v: 1 }))],
  'unknown member': ['unknown_member', at(EVERY, () => ({ more: 1 }))],
  'no time': ['missing_member', at(EVERY, () => ({ at: undefined }))],
  'other connection': [
    'wrong_connection',
    at(EVERY, (_, __, ___, of) => ({ connection: idText('con', of.bytes(16)) })),
  ],
  'prev of nothing': [
    'prev_mismatch',
    at(EVERY, (_, __, ___, of) => ({ prev: base64url(of.bytes(32)) })),
  ],
  'signature bit': [
    'bad_signature',
    (of, place, random) => {
      const [head, body, signature] = of.entries[place]!.split('.') as [string, string, string]
      const data = fromBase64url(signature)
      // S stays below L if one of its lower bytes changes.
      data[32 + random.below(28)]! ^= 1 << random.below(8)
      return [...of.entries.slice(0, place), `${head}.${body}.${base64url(data)}`]
    },
  ],
  'kid of another key': [
    'kid_mismatch',
    (of, place, random) => changed(of, place, {}, newKeyPair(random)),
  ],
  'typ of a key log': [
    'wrong_typ',
    (of, place) => changed(of, place, {}, of.signers[place], { typ: 'keylog+jws' }),
  ],
  gap: [
    'gap',
    (of, place) => (place + 1 < of.entries.length ? of.entries.toSpliced(place, 1) : null),
  ],
  'repeated in the list': ['duplicate_entry', (of, place) => [...of.entries, of.entries[place]!]],
  fork: [
    'roster_forked',
    (of, place) => [...of.entries, changed(of, place, { at: 2 ** 40 }).at(-1)!],
  ],
  'epoch too high': [
    'epoch_skip',
    at(
      EVERY.filter((op) => op !== 'leave'),
      ({ epoch }) => ({ epoch: Number(epoch) + 1 }),
    ),
  ],
  'leave opens an epoch': [
    'leave_opens_epoch',
    at(['leave'], ({ epoch }) => ({ epoch: Number(epoch) + 1 })),
  ],
  'no k_commit': [
    'missing_k_commit',
    at(['open', 'remove', 'rotate', 'confirm'], () => ({ k_commit: undefined })),
  ],
  'k_commit without an epoch': [
    'superfluous_k_commit',
    at(['add', 'role', 'leave', 'end'], (_, __, ___, of) => ({
      k_commit: base64url(of.bytes(32)),
    })),
  ],
  'actor_log of another head': [
    'actor_log_mismatch',
    at(EVERY, ({ actor_log: log }, _, __, of) => ({
      actor_log: { ...(log as Payload), head: base64url(of.bytes(32)) },
    })),
  ],
  'member_log of another head': [
    'member_log_mismatch',
    at(['add', 'confirm'], ({ member_log: log }, _, __, of) => ({
      member_log: { ...(log as Payload), head: base64url(of.bytes(32)) },
    })),
  ],
  'consent for another connection': [
    'consent_mismatch',
    inConsent({ connection: idText('con', new Uint8Array(16)) }),
  ],
  'consent for another inviter': [
    'consent_mismatch',
    inConsent({ inviter: idText('acc', new Uint8Array(16)) }),
  ],
  'consent by another key': ['bad_consent', inConsent({}, newKeyPair)],
  'consent of version 1': ['bad_consent', inConsent({ v: 1 })],
  'consent to an unknown entry': [
    'consent_stale',
    inConsent({ roster_head: base64url(new Uint8Array(32)) }),
  ],
  'consent of another log': [
    'consent_log',
    inConsent({ key_log: { seq: 0, head: base64url(new Uint8Array(32)) } }),
  ],
  'a member adds': [
    'not_owner',
    (of, place) => {
      const payload = payloadOf(of.entries[place]!)
      if (payload['op'] !== 'rotate') return null
      if (seatsBefore(of, place).get(String(payload['actor']))?.role !== 'member') return null
      const own = { op: 'role', role: 'owner', k_commit: undefined, logs: undefined }
      const epoch = Number(payload['epoch']) - 1
      return changed(of, place, { ...own, epoch, member: payload['actor'] })
    },
  ],
  'add of a member': [
    'already_member',
    (of, place, random) => {
      const payload = payloadOf(of.entries[place]!)
      if (payload['op'] !== 'add') return null
      const member = random.pick([...seatsBefore(of, place).keys()] as string[])
      return changed(of, place, { member, member_log: placeOf(of.accounts.get(member)!, 0) })
    },
  ],
  'removal of a stranger': [
    'not_member',
    at(['remove', 'role', 'confirm'], (_, __, ___, of) => ({
      member: idText('acc', of.bytes(16)),
    })),
  ],
  'confirm of itself': ['self_confirm', at(['confirm'], ({ actor }) => ({ member: actor }))],
  'the only owner leaves': [
    'last_owner',
    (of, place) => {
      const payload = payloadOf(of.entries[place]!)
      const owners = [...seatsBefore(of, place).values()].filter(({ role }) => role === 'owner')
      if (payload['op'] !== 'add' || owners.length !== 1) return null
      const none = { member: undefined, member_log: undefined, role: undefined, consent: undefined }
      return changed(of, place, { ...none, op: 'leave' })
    },
  ],
  'no rows': ['bad_value', at(['rotate', 'remove', 'confirm'], () => ({ logs: [] }))],
  'a row of the actor': [
    'logs_not_member',
    at(['rotate', 'remove', 'confirm'], ({ actor, actor_log: log }) => ({
      logs: [{ account: actor, ...(log as Payload) }],
    })),
  ],
  'a repeated row': [
    'logs_unsorted',
    at(['rotate', 'remove', 'confirm'], ({ logs }) =>
      logs === undefined ? null : { logs: (logs as Payload[]).flatMap((row) => [row, row]) },
    ),
  ],
  'rows where none belong': [
    'superfluous_member',
    at(['open', 'add', 'role', 'leave', 'end'], ({ actor, actor_log: log }) => ({
      logs: [{ account: actor, ...(log as Payload) }],
    })),
  ],
  'replaces itself': ['bad_value', at(['open'], ({ connection }) => ({ replaces: connection }))],
  'second open': ['bad_op', at(['rotate'], () => ({ op: 'open', logs: undefined }))],
}
export const ROSTER_FAULTS = Object.keys(FAULTS)

/** Returns the roster with the named fault, or null if it has no place for it. */
export function faultyRoster(
  of: RosterHistory,
  fault: string,
  random: Random,
): FaultyRoster | null {
  const [reason, mutate] = FAULTS[fault]!
  const { connection, known, logs } = of
  const from = random.below(of.entries.length)
  for (let i = 0; i < of.entries.length; i++) {
    const entries = mutate(of, (from + i) % of.entries.length, random)
    if (entries !== null) return { connection, known, logs, entries, fault, reason }
  }
  return null
}
