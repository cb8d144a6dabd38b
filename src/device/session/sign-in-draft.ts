/**
 * What a device that is about to sign in has made: its keys, in the keychain before anything speaks of them, its id, and the
 * entry by which it joins. It is kept until the account server has answered, so that a device that died on the way comes again as
 * the same one, and no second account or device is made.
 */
import { type DeviceKeys, newDeviceKeys } from '../../crypto/device-keys.ts'
import { PREFIX, newId } from '../../crypto/encoding/id.ts'
import { AppError, StartError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import { readKeys, storeKeys } from '../identity/own-keys.ts'

const DRAFT = 'sign_in_draft'

/** How a device joins an account: by an entry that it signs itself, the first or a reset, or, with null, as a further one. */
export interface Way {
  readonly account: string
  readonly entry: string | null
}

/** Whose a draft is: shown to another account server, it would tell that one who is a customer here. */
export interface Maker {
  /** The origin of the account server. */
  readonly server: string
  /** The mailbox or machine account that it was made for; null for a code that the operator made. */
  readonly holder: string | null
}

export interface Draft extends Maker {
  readonly device: string
  readonly keys: DeviceKeys
  /** How it was last presented, or is about to be; null before it is known. */
  readonly way: Way | null
}

type Stored = Omit<Draft, 'keys'>

/** A new draft in the place of any other. */
export async function newDraft(
  state: State,
  keychain: Keychain,
  { server, holder }: Maker,
  now: number,
): Promise<Draft> {
  // First, for an entry must never stand beside the keys of another.
  state.meta.delete(DRAFT)
  const keys = await newDeviceKeys()
  await storeKeys(state, keychain, keys)
  const stored: Stored = { server, holder, device: newId(PREFIX.device, now), way: null }
  state.meta.set(DRAFT, stored)
  return { ...stored, keys }
}

/** Whether a draft was made for this holder and server. */
const isFor = (stored: Maker, { server, holder }: Maker) =>
  stored.holder === holder && stored.server === server

/** Throws AppError invalid_state while the draft of another may be enrolled already: its keys alone are of use then. */
function demandFree(stored: Stored | null, maker: Maker): void {
  if (stored !== null && stored.way !== null && !isFor(stored, maker)) throw unfinished(stored)
}

/**
 * Before a code is sent in vain: throws as `draftFor` would for who gets it. A draft without a holder may be that of any code.
 */
export function demandMailbox({ meta }: State, server: string, email: string): void {
  const stored = meta.get(DRAFT) as Stored | null
  if (stored?.server !== server || stored.holder !== null)
    demandFree(stored, { server, holder: email })
}

/**
 * The draft of this holder for this server: the one that was made before, or a new one.
 * @throws AppError invalid_state while that of another may be enrolled already
 */
export async function draftFor(
  state: State,
  keychain: Keychain,
  maker: Maker,
  now: number,
): Promise<Draft> {
  const stored = state.meta.get(DRAFT) as Stored | null
  demandFree(stored, maker)
  const keys = stored !== null && isFor(stored, maker) ? await readKeys(state, keychain) : null
  return stored === null || keys === null
    ? newDraft(state, keychain, maker, now)
    : { ...stored, keys }
}

/** Write down how a draft will be presented, before it is. */
export function keepWay({ meta }: State, { server, holder, device }: Draft, way: Way): void {
  const stored: Stored = { server, holder, device, way }
  meta.set(DRAFT, stored)
}

/**
 * Before an account that needs no sign-in takes the place of its keys. Throws StartError configuration while a draft may be enrolled
 * already.
 */
export function demandNone({ meta }: State): void {
  const stored = meta.get(DRAFT) as Stored | null
  if (stored !== null && stored.way !== null)
    throw new StartError('configuration', unfinished(stored).message)
}

export const hasDraft = ({ meta }: State): boolean => meta.get(DRAFT) !== null

/** Forget the draft, whose keys are those of the enrolled device by then, or gone with it. */
export const dropDraft = ({ meta }: State): void => meta.delete(DRAFT)

function finishing({ holder }: Maker): string {
  if (holder === null) return '"countersignd login" and the code of the operator'
  return holder.includes('@')
    ? `"countersignd login --email ${holder}"`
    : `"countersignd login --machine" and the key of ${holder}`
}

/** Somebody else began here, and may be enrolled already. */
export const unfinished = (kept: Maker) =>
  new AppError(
    'invalid_state',
    `A sign-in${kept.holder === null ? '' : ` of ${kept.holder}`} to ${kept.server} was not finished here, and that account server may have enrolled this device already. ` +
      `Finish it there with ${finishing(kept)}, or give it up with "countersignd logout --forget": the keys that were made for it are gone then.`,
    { details: { state: 'unfinished' } },
  )
