/**
 * Checks the stamp at a link, and compares a file with the stamp. The check does not depend on the
 * page that shows the stamp.
 */
import { decodeBase64url, encodeBase64url } from '../crypto/encoding/base64url.ts'
import type { PublicJwk } from '../crypto/jose/jwk.ts'
import { Refusal, type RefusalReason } from '../crypto/refusal.ts'
import {
  type StampFacts,
  type StampFile,
  type StampPayload,
  stampFragment,
  verifyStamp,
} from '../crypto/stamp.ts'
import { signerName } from '../crypto/stamp-signer.ts'
import { element } from './element.ts'

/** Why a stamp is rejected: a reason of the check, or a reason of this page. */
export type StampRefusal = RefusalReason | 'other_stamp' | 'other_id'

/**
 * A stamp as the server sent it. The page trusts no part of it. The key log and the receipt key
 * also come from the server, and the page has nothing to compare them with. So the page names an
 * account and how this account calls itself, but no person.
 */
export type ServedStamp = StampFile & { profile?: string; receipt_key: PublicJwk }

export type StampCheck =
  | { kind: 'valid' | 'unbound'; facts: StampFacts; signer: string | null }
  | { kind: 'refused'; reason: StampRefusal }

/**
 * Checks the served stamp against the stamp id in the address and the link's fragment. The fragment
 * contains the hash of the stamp (protocol, section 7). The result is `unbound` if the stamp is
 * valid but the fragment is missing or cut off, so nothing proves that the link was made for this
 * stamp.
 */
export function checkStamp(served: ServedStamp, id: string, fragment: string): StampCheck {
  try {
    const whole = stampFragment(served.stamp)
    const isCut = fragment !== whole && whole.startsWith(fragment)
    if (!isCut && !isSame(fragment, whole)) return refused('other_stamp')
    const facts = verifyStamp(served, { serverKey: served.receipt_key })
    if (facts.payload.jti !== id) {
      return refused('other_id')
    }
    const signer = signerName(served.profile, facts)
    return { kind: isCut ? 'unbound' : 'valid', facts, signer }
  } catch (error) {
    return refused(error instanceof Refusal ? error.reason : 'malformed')
  }
}

const refused = (reason: StampRefusal): StampCheck => ({ kind: 'refused', reason })

/** Returns whether a fragment has the bytes of the right one. */
function isSame(fragment: string, right: string): boolean {
  try {
    return encodeBase64url(decodeBase64url(fragment)) === right
  } catch {
    return false
  }
}

/**
 * The largest file that is compared, in bytes. WebCrypto needs the whole file in one buffer, and a
 * larger buffer does not fit into memory on every device.
 */
const LARGEST = 1024 ** 3

/** The state of the comparison of one file. */
export type FileResult = {
  state: 'reading' | 'same' | 'different' | 'too_large' | 'unreadable'
  name: string
}

/**
 * Connects the page's file input and drop zone. `payload` must come from a verified stamp. The
 * browser compares the file's digest itself, so nothing is sent. Calls `show` with the state of the
 * file that was chosen last.
 */
export function fileCheck(payload: StampPayload, show: (result: FileResult) => void): void {
  const input = element('file', HTMLInputElement)
  const drop = element('drop', HTMLElement)
  let latest = 0

  const take = async (file: File | undefined) => {
    if (file === undefined) return
    const mine = ++latest
    show({ state: 'reading', name: file.name })
    const state = await compare(file, payload)
    if (mine === latest) show({ state, name: file.name })
  }

  input.addEventListener('change', () => {
    void take(input.files?.[0])
    // Cleared, so that choosing the same file again, which may have been saved since, also fires
    // `change`.
    input.value = ''
  })
  // The handlers cover the whole page, because the browser would open a file that was dropped
  // beside the zone.
  document.addEventListener('dragover', (event) => {
    event.preventDefault()
    drop.dataset['over'] = ''
  })
  for (const end of ['dragleave', 'drop'] as const) {
    document.addEventListener(end, () => delete drop.dataset['over'])
  }
  document.addEventListener('drop', (event) => {
    event.preventDefault()
    void take(event.dataTransfer?.files[0])
  })
}

async function compare(file: File, { sha256, len }: StampPayload): Promise<FileResult['state']> {
  if (file.size > LARGEST) return 'too_large'
  try {
    const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer())
    const isSame = encodeBase64url(new Uint8Array(digest)) === sha256
    return isSame && (len === null || len === file.size) ? 'same' : 'different'
  } catch {
    return 'unreadable'
  }
}
