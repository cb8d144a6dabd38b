/** Random key logs and a device that looks for its own entry in them, by the verdict expected. */
import type { PublicKeys } from './account-id.ts'
import { type Bytes, hex, sha256, utf8 } from './bytes.ts'
import type { Known } from './chain.ts'
import { type KeyLogHistory, keyLogHistory } from './key-log-histories.ts'
import { flipped } from './rounds.ts'
import type { Random } from './random.ts'
import { newDevice, payloadOf, type TestDevice } from './signing.ts'

export const OWN_ENTRIES = [
  'accepted',
  'not_in_log',
  'own_keys_differ',
  'added_before',
  'generation_changed',
  'not_active',
  'rollback',
  'key_log_forked',
] as const
type Verdict = (typeof OWN_ENTRIES)[number]

/** The input of a new device's check. */
export interface OwnEntry {
  readonly account: string
  readonly entries: readonly string[]
  readonly seen: Known
  readonly device: string
  readonly keys: PublicKeys
}

type Pair = { readonly device: TestDevice; readonly seq: number; readonly verdict: Verdict }

/** A history that has a device and a place for each verdict. */
export interface OwnHistory extends KeyLogHistory {
  readonly pairs: readonly Pair[]
}

/** Returns a random history. */
export function ownHistory(of: Random): OwnHistory {
  for (;;) {
    const history = keyLogHistory(of, 6 + of.below(6))
    const pairs = pairsOf(history)
    const found = new Set(pairs.map(({ verdict }) => verdict))
    if (found.size === 4) return { ...history, pairs }
  }
}

/** Returns a random input with this verdict. */
export function ownEntry(of: Random, history: OwnHistory, wanted: Verdict): OwnEntry {
  const fitting = history.pairs.filter(({ verdict }) => verdict === wanted)
  const accepted = history.pairs.filter(({ verdict }) => verdict === 'accepted')
  const { device, seq } = of.pick(fitting.length > 0 ? fitting : accepted)
  const head_hex = hex(sha256(utf8(history.entries[seq]!)))
  return changed(of, wanted, history, device, { seq, head_hex })
}

/** Returns each device with each place that it may have seen, and the verdict by the history. */
function pairsOf({ entries, active, generations, devices }: KeyLogHistory): Pair[] {
  return [...devices.values()].flatMap((device) => {
    const added = entries.findIndex((entry) => payloadOf(entry)['device'] === device.id)
    return entries.map((_, seq): Pair => {
      if (added <= seq) return { device, seq, verdict: 'added_before' }
      if (generations[added] !== generations[seq])
        return { device, seq, verdict: 'generation_changed' }
      const isActive = active.at(-1)!.includes(device)
      return { device, seq, verdict: isActive ? 'accepted' : 'not_active' }
    })
  })
}

/** Returns the input with the fault of this verdict; others follow from device and place alone. */
function changed(
  of: Random,
  wanted: Verdict,
  { account, entries }: KeyLogHistory,
  { id: device, keys }: TestDevice,
  seen: Known,
): OwnEntry {
  const input = { account, entries, seen, device, keys }
  if (wanted === 'not_in_log') return { ...input, device: newDevice(of).id }
  if (wanted === 'own_keys_differ') return { ...input, keys: keyChanged(of, keys) }
  if (wanted === 'rollback') return { ...input, seen: { ...seen, seq: entries.length } }
  if (wanted === 'key_log_forked')
    return { ...input, seen: { ...seen, head_hex: hex(of.bytes(32)) } }
  return input
}

/** Returns the keys with one bit of one of them changed. */
function keyChanged(of: Random, keys: PublicKeys): PublicKeys {
  const name = of.pick(['sign', 'seal', 'auth'] as const)
  const key: Bytes = keys[name]
  return { ...keys, [name]: flipped(of, key, 1) }
}
