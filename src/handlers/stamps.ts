/** Handlers for the stamps of this device, and for the check of any stamp. */
import { pageOf, readCursor, rowsFor } from '../api/cursor.ts'
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import type { StampVerdict } from '../api/rest/stamps.ts'
import { decodeBase64url, encodeBase64url } from '../crypto/encoding/base64url.ts'
import { isId } from '../crypto/encoding/id.ts'
import { isLinked } from '../crypto/logs/generations.ts'
import { Refusal } from '../crypto/refusal.ts'
import { type StampFile, stampFragment } from '../crypto/stamp.ts'
import { signerName } from '../crypto/stamp-signer.ts'
import type { LocalDevice } from '../device/device.ts'
import { type CheckedStamp, checkedStamp, stampMemoryOf } from '../device/identity/stamp-check.ts'
import { claimedName, nameOf } from '../device/names.ts'
import { AppError } from '../errors.ts'
import type { Handlers } from './context.ts'
import { claimsIn, listedStamp, wholeStamp } from './stamp-answers.ts'

/** After the id of every stamp. */
const END = 'stm_~'

/** A stamp to check, with the signed profile of its account if the account server sent it. */
type Given = StampFile & { readonly profile?: string | undefined }

const refused = (reason: string, conclusive = true): StampVerdict => ({
  valid: false,
  conclusive,
  reason,
  stamp: null,
})

/** Returns the id and the fragment of a link at an account server; null for any other text. */
function partsOfLink(link: string, base: string): { id: string; fragment: string } | null {
  const start = `${base}/s/`
  if (!link.startsWith(start)) return null
  const [id = '', fragment = ''] = link.slice(start.length).split('#')
  return isId('stm_', id) ? { id, fragment } : null
}

/**
 * Returns whether a fragment is that of a stamp, or its beginning: a link may be cut off. A cut
 * link is no risk here, because the verdict also needs a known signer.
 */
function fitsFragment(fragment: string, stamp: string): boolean {
  const whole = stampFragment(stamp)
  if (whole.startsWith(fragment)) return true
  try {
    return encodeBase64url(decodeBase64url(fragment)) === whole
  } catch {
    return false
  }
}

/** Returns the stamp at a link, from this device or its account server, or else a verdict. */
async function stampAt(
  link: string,
  device: LocalDevice,
  account: Account,
): Promise<Given | StampVerdict> {
  const parts = partsOfLink(link.trim(), device.backend())
  if (parts === null) return refused('other_server', false)
  const { id, fragment } = parts
  const own = device.state.stamps.get(id)
  try {
    const found =
      own === null
        ? givenIn(await account.servedStamps.read({ id }))
        : givenIn(await wholeStamp(device, own))
    return fitsFragment(fragment, found.stamp) ? found : refused('other_stamp')
  } catch (error) {
    if (error instanceof AppError && error.code === 'not_found') return refused('not_found', false)
    throw error
  }
}

const givenIn = (from: {
  readonly stamp: string
  readonly key_log: readonly string[]
  readonly receipt?: string | null | undefined
  readonly profile?: string | undefined
}): Given => {
  const { stamp, key_log, receipt, profile } = from
  return { stamp, key_log, profile, ...(receipt == null ? {} : { receipt }) }
}

/** Returns the name of a signer. The name of unknown keys is only a claim. */
function nameOfSigner(
  { facts, signer }: CheckedStamp,
  profile: string | undefined,
  device: LocalDevice,
) {
  const { iss: account } = facts.payload
  const naming = { state: device.state, own: device.identity.account }
  const signed = signerName(profile, facts)
  if (signer === 'own' || signer === 'remembered') return nameOf(naming, account, signed ?? account)
  return signed === null
    ? { display_name: null, name_source: null, name_marks: [] }
    : claimedName(naming, signed, account)
}

function verdictOn(
  checked: CheckedStamp,
  profile: string | undefined,
  device: LocalDevice,
): StampVerdict {
  const { facts, signer, receipt } = checked
  const { payload, generation, keyLog } = facts
  const isKnown = signer !== 'unknown'
  return {
    valid: isKnown,
    conclusive: isKnown,
    reason: isKnown ? null : 'signer_unknown',
    stamp: {
      id: payload.jti,
      account_id: payload.iss,
      device_id: facts.device,
      ...claimsIn(payload),
      signer,
      ...nameOfSigner(checked, profile, device),
      root: Buffer.from(facts.root.hash).toString('hex'),
      reset: generation === 1 ? null : isLinked(keyLog, 1, generation) ? 'recovered' : 'anew',
      signed_at: timeAt(payload.iat * 1000),
      received_at: facts.receipt === null ? null : timeAt(facts.receipt.received_at * 1000),
      receipt,
      assurance_level: facts.assurance,
      words: facts.words.join(' '),
    },
  }
}

export const stamps: Handlers['stamps'] = {
  list: async (page, { local }) => {
    const before = readCursor(page.cursor, (id) => isId('stm_', id))
    const rows = local.state.stamps.page(rowsFor(page), before ?? END)
    return pageOf(
      rows.map((row) => listedStamp(local, row)),
      page,
    )
  },

  read: async ({ id }, { local }) => {
    const row = local.state.stamps.get(id)
    if (row === null)
      throw new AppError('not_found', 'This device has no stamp with this id. Look at the list.')
    return wholeStamp(local, row)
  },

  check: async ({ body: { sha256, file, link, root = null } }, { local, account }) => {
    const given = link === undefined ? givenIn(file!) : await stampAt(link, local, account)
    if ('valid' in given) return given
    const { state, identity } = local
    const memory = stampMemoryOf(identity, state.logs, state.trust)
    try {
      const of = { digest: Buffer.from(sha256, 'hex'), key: null, root }
      const checked = await checkedStamp(given, of, memory)
      const id = link === undefined ? null : partsOfLink(link.trim(), local.backend())!.id
      if (id !== null && checked.facts.payload.jti !== id) return refused('other_id')
      return verdictOn(checked, given.profile, local)
    } catch (error) {
      if (error instanceof Refusal) return refused(error.reason)
      throw error
    }
  },
}
