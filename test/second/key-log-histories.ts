/** Random valid key logs, made by separate bookkeeping and not by the verifier. */
import { accountOf } from './account-id.ts'
import { base64url, type Bytes, fromBase64url } from './bytes.ts'
import type { Known } from './chain.ts'
import { idText } from './ids.ts'
import type { Random } from './random.ts'
import {
  hashText,
  jwk,
  type KeyPair,
  keysJson,
  newDevice,
  newKeyPair,
  type Payload,
  recoverySig,
  resetSig,
  signed,
  type TestDevice,
} from './signing.ts'

/** The input of every verifier of a key log. */
export interface KeyLogInput {
  readonly account: string
  readonly entries: readonly string[]
  readonly known: Known | null
}

export interface KeyLogHistory extends KeyLogInput {
  readonly raw: Bytes
  readonly devices: ReadonlyMap<string, TestDevice>
  /** The signing key pair of each entry. */
  readonly signers: readonly KeyPair[]
  /** Devices active after each place. */
  readonly active: readonly (readonly TestDevice[])[]
  /** The recovery key in force after each place. */
  readonly inForce: readonly (KeyPair | null)[]
  /** Generation of each place, from 1. */
  readonly generations: readonly number[]
  /** The recovery key that made each generation, the first included, or null. */
  readonly madeBy: readonly (KeyPair | null)[]
}

const ZEROS = base64url(new Uint8Array(32))

/** Returns a valid key log of `length` entries. */
export function keyLogHistory(of: Random, length: number): KeyLogHistory {
  const first = newDevice(of)
  const salt = of.bytes(32)
  const raw = accountOf(first.keys, salt)
  const account = idText('acc', raw)
  const entries: string[] = []
  const signers: KeyPair[] = []
  const active: TestDevice[][] = []
  const inForce: (KeyPair | null)[] = []
  const generations: number[] = []
  const madeBy: (KeyPair | null)[] = [null]
  const devices = new Map<string, TestDevice>()
  /** The keys in force of the generations that ended. */
  const closed: (KeyPair | null)[] = []
  let current: TestDevice[] = []
  let recovery: KeyPair | null = null

  const push = (payload: Payload, signer: TestDevice): void => {
    const seq = entries.length
    const common = { v: 2, account, seq, prev: prev(), by: signer.id, at: of.below(2 ** 31) }
    entries.push(signed('keylog+jws', { ...common, ...payload }, signer.sign))
    signers.push(signer.sign)
    active.push([...current])
    inForce.push(recovery)
    generations.push(madeBy.length)
  }
  const prev = (): string => (entries.length === 0 ? ZEROS : hashText(entries.at(-1)!))
  const joined = (): TestDevice => {
    const device = newDevice(of)
    devices.set(device.id, device)
    return device
  }

  devices.set(first.id, first)
  current = [first]
  push({ op: 'add', device: first.id, keys: keysJson(first.keys), salt: base64url(salt) }, first)
  while (entries.length < length) {
    const ops = ['add', 'add', 'renew', 'revoke', 'recovery', 'recovery', 'reset', 'signed reset']
    const op = current.length === 0 ? of.pick(['reset', 'signed reset']) : of.pick(ops)
    if (op === 'add') {
      const [signer, device] = [of.pick(current), joined()]
      current.push(device)
      push({ op, device: device.id, keys: keysJson(device.keys) }, signer)
    } else if (op === 'renew') {
      const device = of.pick(current)
      push({ op, device: device.id, seal: base64url(of.bytes(32)) }, device)
    } else if (op === 'revoke') {
      const [signer, device] = [of.pick(current), of.pick(current)]
      current = current.filter((one) => one !== device)
      push({ op, device: device.id }, signer)
    } else if (op === 'recovery') {
      const [signer, key] = [of.pick(current), newKeyPair(of)]
      const [seq, before] = [entries.length, fromBase64url(prev())]
      const sig =
        recovery === null
          ? {}
          : { recovery_sig: recoverySig(recovery, raw, seq, before, key.publicKey) }
      recovery = key
      push({ op, key: jwk(key.publicKey), ...sig }, signer)
    } else {
      const possible: KeyPair[] = [...closed, recovery].filter((one) => one !== null)
      const key: KeyPair | null = op === 'reset' || possible.length === 0 ? null : of.pick(possible)
      const device = joined()
      const [seq, before] = [entries.length, fromBase64url(prev())]
      const sig = key === null ? {} : { recovery_sig: resetSig(key, raw, seq, before, device) }
      closed.push(recovery)
      recovery = key
      madeBy.push(key)
      current = [device]
      push({ op: 'reset', device: device.id, keys: keysJson(device.keys), ...sig }, device)
    }
  }
  return {
    account,
    raw,
    entries,
    known: null,
    devices,
    signers,
    active,
    inForce,
    generations,
    madeBy,
  }
}
