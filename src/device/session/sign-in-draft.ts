/**
 * The draft of a device that is about to sign in: its keys, its id, and its key log entry.
 *
 * The keys are stored in the keychain before anything refers to them. The draft is kept until the
 * account server has responded. After a crash the device presents the same draft, so that no second
 * account or device is created.
 */
import { type DeviceKeyPairs, newDeviceKeys } from '../../crypto/device-keys.ts'
import { ID_PREFIX, newId } from '../../crypto/encoding/id.ts'
import { AppError, StartError } from '../../errors.ts'
import type { Keychain } from '../../keychain/backend.ts'
import type { State } from '../../state/state.ts'
import { readKeys, storeKeys } from '../identity/own-keys.ts'

const DRAFT = 'sign_in_draft'

/**
 * How a device joins an account.
 *
 * Either it signs an entry itself, which is the account's first entry or a reset. Or `entry` is
 * null, and another device must approve it.
 */
export interface Way {
  readonly account: string
  readonly entry: string | null
}

/**
 * The account server and the holder for which a draft was created.
 *
 * The draft must not be shown to another account server, because that server would learn about a
 * customer of this one.
 */
interface Maker {
  /** The origin of the account server. */
  readonly server: string
  /** The mailbox or machine account of the draft; null for a code that the operator created. */
  readonly holder: string | null
}

export interface Draft extends Maker {
  readonly device: string
  readonly keys: DeviceKeyPairs
  /** How the draft was last presented, or is about to be presented; null if unknown. */
  readonly way: Way | null
}

type Stored = Omit<Draft, 'keys'>

/** Creates a new draft, which replaces any other draft. */
export async function newDraft(
  state: State,
  keychain: Keychain,
  { server, holder }: Maker,
  now: number,
): Promise<Draft> {
  // Deleted first, because an entry must never be stored with the keys of another draft.
  state.meta.delete(DRAFT)
  const keys = await newDeviceKeys()
  await storeKeys(state, keychain, keys)
  const stored: Stored = { server, holder, device: newId(ID_PREFIX.device, now), way: null }
  state.meta.set(DRAFT, stored)
  return { ...stored, keys }
}

/** Checks whether a draft was made for this holder and server. */
const isFor = (stored: Maker, { server, holder }: Maker) =>
  stored.holder === holder && stored.server === server

/**
 * Throws if the draft of another holder or server may already be enrolled.
 *
 * An enrolled device can only be used with the keys of its draft.
 * @throws AppError invalid_state
 */
function requireFree(stored: Stored | null, maker: Maker): void {
  if (stored !== null && stored.way !== null && !isFor(stored, maker)) throw unfinished(stored)
}

/**
 * Throws, before a code is sent, if `draftFor` would throw for this mailbox.
 *
 * A draft without a holder may belong to any code.
 */
export function requireMailbox({ meta }: State, server: string, email: string): void {
  const stored = meta.get(DRAFT) as Stored | null
  if (stored?.server !== server || stored.holder !== null)
    requireFree(stored, { server, holder: email })
}

/**
 * Returns this holder's draft for this server: the earlier draft, or a new one.
 * @throws AppError invalid_state if another holder's draft may already be enrolled
 */
export async function draftFor(
  state: State,
  keychain: Keychain,
  maker: Maker,
  now: number,
): Promise<Draft> {
  const stored = state.meta.get(DRAFT) as Stored | null
  requireFree(stored, maker)
  const keys = stored !== null && isFor(stored, maker) ? await readKeys(state, keychain) : null
  return stored === null || keys === null
    ? newDraft(state, keychain, maker, now)
    : { ...stored, keys }
}

/** Stores how a draft will be presented. Must be called before it is presented. */
export function keepWay({ meta }: State, { server, holder, device }: Draft, way: Way): void {
  const stored: Stored = { server, holder, device, way }
  meta.set(DRAFT, stored)
}

/**
 * Throws if a draft may already be enrolled.
 *
 * Called before an account that needs no sign-in replaces the keys of the draft.
 * @throws StartError configuration
 */
export function requireNone({ meta }: State): void {
  const stored = meta.get(DRAFT) as Stored | null
  if (stored !== null && stored.way !== null)
    throw new StartError('configuration', unfinished(stored).message)
}

export const hasDraft = ({ meta }: State): boolean => meta.get(DRAFT) !== null

/**
 * Deletes the draft. Its keys must already belong to the enrolled device, or be deleted with it.
 */
export const dropDraft = ({ meta }: State): void => meta.delete(DRAFT)

function finishing({ holder }: Maker): string {
  if (holder === null) return '"countersignd login" and the code of the operator'
  return holder.includes('@')
    ? `"countersignd login --email ${holder}"`
    : `"countersignd login --machine" and the key of ${holder}`
}

/** Returns the error for a draft of another sign-in that may already be enrolled. */
const unfinished = (maker: Maker) =>
  new AppError(
    'invalid_state',
    `A sign-in${maker.holder === null ? '' : ` of ${maker.holder}`} to ${maker.server} was not finished here, and that account server may already have enrolled this device. ` +
      `Finish it there with ${finishing(maker)}, or cancel it with "countersignd logout --forget", which deletes the keys that were created for it.`,
    { details: { state: 'unfinished' } },
  )
