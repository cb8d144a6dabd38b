/** Single faults in a random key log. */
import { base64url, fromBase64url } from './bytes.ts'
import { idText } from './ids.ts'
import type { KeyLogHistory, KeyLogInput } from './key-log-histories.ts'
import type { Random } from './random.ts'
import {
  type KeyPair,
  newDevice,
  newKeyPair,
  type Payload,
  payloadOf,
  resetSig,
  signed,
} from './signing.ts'

const ZEROS = base64url(new Uint8Array(32))

export interface FaultyKeyLog extends KeyLogInput {
  /** Name of the mutation. */
  readonly fault: string
  /** The reason of the kit for it. */
  readonly reason: string
}

/**
 * Returns the log up to `place` with changed members in that entry; undefined removes a member.
 */
function changed(
  of: KeyLogHistory,
  place: number,
  members: Payload,
  signer: KeyPair = of.signers[place]!,
  header: Payload = {},
): readonly string[] {
  const payload = { ...payloadOf(of.entries[place]!), ...members }
  return [...of.entries.slice(0, place), signed('keylog+jws', payload, signer, header)]
}

type Fault = readonly [
  reason: string,
  mutate: (of: KeyLogHistory, place: number, random: Random) => readonly string[] | null,
]

const opAt = (of: KeyLogHistory, place: number): unknown => payloadOf(of.entries[place]!)['op']
/** Returns the mutation `make` at a place with one of these ops. */
const at =
  (
    ops: readonly string[],
    make: (of: KeyLogHistory, place: number, random: Random) => Payload | null,
  ): Fault[1] =>
  (of, place, random) => {
    if (!ops.includes(String(opAt(of, place)))) return null
    const members = make(of, place, random)
    return members === null ? null : changed(of, place, members)
  }
const EVERY = ['add', 'revoke', 'reset', 'renew', 'recovery']
const flipped = (text: string, random: Random): string => {
  const data = fromBase64url(text)
  data[random.below(data.length)]! ^= 1 << random.below(8)
  return base64url(data)
}

/** Single faults; each is tried at random places until it applies. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'version 1': ['wrong_version', at(EVERY, () => ({ v: 1 }))],
  'unknown member': ['unknown_member', at(EVERY, () => ({ more: 1 }))],
  'no time': ['missing_member', at(EVERY, () => ({ at: undefined }))],
  'time as text': ['bad_value', at(EVERY, () => ({ at: '1' }))],
  'prev of nothing': [
    'prev_mismatch',
    at(EVERY, (_, __, of) => ({ prev: base64url(of.bytes(32)) })),
  ],
  'other account': [
    'wrong_account',
    at(EVERY, (_, __, of) => ({ account: idText('acc', of.bytes(16)) })),
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
  'payload bit': [
    'bad_signature',
    (of, place) => {
      const payload = payloadOf(of.entries[place]!)
      const [head, , signature] = of.entries[place]!.split('.')
      const body = JSON.stringify({ ...payload, at: Number(payload['at']) + 1 })
      const text = base64url(new Uint8Array(Buffer.from(body)))
      return [...of.entries.slice(0, place), `${head}.${text}.${signature}`]
    },
  ],
  'alg EdDSA': [
    'wrong_alg',
    (of, place) => changed(of, place, {}, of.signers[place], { alg: 'EdDSA' }),
  ],
  'typ roster': [
    'wrong_typ',
    (of, place) => changed(of, place, {}, of.signers[place], { typ: 'roster+jws' }),
  ],
  gap: [
    'gap',
    (of, place) => (place + 1 >= of.entries.length ? null : of.entries.toSpliced(place, 1)),
  ],
  'repeated in the list': ['duplicate_entry', (of, place) => [...of.entries, of.entries[place]!]],
  fork: [
    'key_log_forked',
    (of, place) => [...of.entries, changed(of, place, { at: 2 ** 40 }).at(-1)!],
  ],
  'invalid second successor': [
    'wrong_version',
    (of, place) => [...of.entries, changed(of, place, { v: 3 }).at(-1)!],
  ],
  'other salt': [
    'account_mismatch',
    (of, _, random) => changed(of, 0, { salt: base64url(random.bytes(32)) }),
  ],
  'salt later': [
    'superfluous_member',
    at(EVERY, (_, place) => (place === 0 ? null : { salt: ZEROS })),
  ],
  'unknown signer': [
    'unknown_signer',
    (of, place, random) => {
      if (place === 0 || !['add', 'revoke', 'recovery'].includes(String(opAt(of, place))))
        return null
      const thief = newDevice(random)
      return changed(of, place, { by: thief.id }, thief.sign)
    },
  ],
  'revoked signer': [
    'revoked_signer',
    (of, place, random) => {
      if (place === 0 || !['add', 'revoke', 'recovery'].includes(String(opAt(of, place))))
        return null
      const past = of.active.slice(0, place).flat()
      const gone = past.filter((device) => !of.active[place - 1]!.includes(device))
      if (gone.length === 0) return null
      const signer = random.pick(gone)
      return changed(of, place, { by: signer.id }, signer.sign)
    },
  ],
  'kid of another key': [
    'kid_mismatch',
    (of, place, random) =>
      place === 0 || opAt(of, place) === 'reset'
        ? null
        : changed(of, place, {}, newKeyPair(random)),
  ],
  'renew by another': [
    'renew_not_self_signed',
    (of, place) => {
      if (opAt(of, place) !== 'renew') return null
      const own = payloadOf(of.entries[place]!)['device']
      const other = of.active[place]!.find(({ id }) => id !== own)
      return other === undefined ? null : changed(of, place, { by: other.id }, other.sign)
    },
  ],
  'reset by another': [
    'reset_not_self_signed',
    at(['reset'], (of) => ({ by: payloadOf(of.entries[0]!)['device'] })),
  ],
  'device repeated': [
    'duplicate_device',
    (of, place) =>
      place > 0 && opAt(of, place) === 'add'
        ? changed(of, place, { device: payloadOf(of.entries[0]!)['device'] })
        : null,
  ],
  'key repeated': [
    'duplicate_key',
    at(['add'], (of, place) =>
      place === 0
        ? null
        : {
            keys: {
              ...(payloadOf(of.entries[place]!)['keys'] as Payload),
              auth: (payloadOf(of.entries[0]!)['keys'] as Payload)['sign'],
            },
          },
    ),
  ],
  'sealing hash repeated': [
    'duplicate_key',
    at(['renew'], (of) => ({ seal: (payloadOf(of.entries[0]!)['keys'] as Payload)['seal'] })),
  ],
  'revoke of an unknown device': [
    'unknown_device',
    at(['revoke'], (_, __, of) => ({ device: newDevice(of).id })),
  ],
  'revoke repeated': [
    'already_revoked',
    at(['revoke'], (of, place) => {
      const past = of.active.slice(0, place).flat()
      const gone = past.find((device) => !of.active[place - 1]!.includes(device))
      return gone === undefined ? null : { device: gone.id }
    }),
  ],
  'no recovery_sig': [
    'missing_recovery_sig',
    at(['recovery'], (of, place) =>
      of.inForce[place - 1] === null ? null : { recovery_sig: undefined },
    ),
  ],
  'recovery_sig without a key in force': [
    'superfluous_member',
    at(['recovery'], (of, place, random) =>
      of.inForce[place - 1] === null ? { recovery_sig: base64url(random.bytes(64)) } : null,
    ),
  ],
  'recovery_sig bit': [
    'bad_recovery_sig',
    at(['recovery', 'reset'], (of, place, random) => {
      const sig = payloadOf(of.entries[place]!)['recovery_sig']
      return typeof sig === 'string' ? { recovery_sig: flipped(sig, random) } : null
    }),
  ],
  'recovery_sig by an unknown key': [
    'bad_recovery_sig',
    at(['reset'], (of, place, random) => {
      const { device, prev } = payloadOf(of.entries[place]!)
      const own = of.devices.get(String(device))!
      const before = fromBase64url(String(prev))
      return { recovery_sig: resetSig(newKeyPair(random), of.raw, place, before, own) }
    }),
  ],
}
export const KEY_LOG_FAULTS = Object.keys(FAULTS)

/** Returns the history with the named fault, or null if it has no place for it. */
export function faultyKeyLog(
  of: KeyLogHistory,
  fault: string,
  random: Random,
): FaultyKeyLog | null {
  const [reason, mutate] = FAULTS[fault]!
  const from = random.below(of.entries.length)
  for (let i = 0; i < of.entries.length; i++) {
    const entries = mutate(of, (from + i) % of.entries.length, random)
    if (entries !== null) return { account: of.account, entries, known: null, fault, reason }
  }
  return null
}
