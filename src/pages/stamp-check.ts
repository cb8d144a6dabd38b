/**
 * Checks a stamp file under a link, independent of the page that shows it, and compares a file with
 * the stamp.
 */
import { decodeBase64url, encodeBase64url } from '../crypto/encoding/base64url.ts'
import type { PublicJwk } from '../crypto/jose/jwk.ts'
import { entryHash } from '../crypto/jose/jws.ts'
import { Refusal, type RefusalReason } from '../crypto/refusal.ts'
import { type StampFacts, type StampFile, type StampPayload, verifyStamp } from '../crypto/stamp.ts'
import { element, say } from './element.ts'

/**
 * A stamp from the server; its form is not trusted. The key log and the receipt key come from the
 * server too: the page has nothing to compare them with, and so names no person.
 */
export type ServedStamp = StampFile & { receipt_key: PublicJwk }

export type StampCheck =
  | { kind: 'valid' | 'unbound'; facts: StampFacts }
  | { kind: 'refused'; reason: string; text: string }

/**
 * Checks the served stamp against the stamp id of the address and the fragment of the link. The
 * fragment holds the hash of the stamp (section 7). `unbound`: the stamp itself is valid, but
 * without a fragment nothing proves that the link was made for it.
 */
export function checkStamp(served: ServedStamp, id: string, fragment: string): StampCheck {
  try {
    if (fragment !== '' && !names(fragment, served.stamp)) {
      return refused(
        'other_stamp',
        'The server shows another stamp than the one this link was made for, or the link was changed.',
      )
    }
    const facts = verifyStamp(served, { serverKey: served.receipt_key })
    if (facts.payload.jti !== id) {
      return refused(
        'other_id',
        'The server shows a stamp with another id than the one in the address.',
      )
    }
    return { kind: fragment === '' ? 'unbound' : 'valid', facts }
  } catch (error) {
    if (!(error instanceof Refusal))
      return refused('malformed', 'What the server shows is not a stamp.')
    return refused(
      error.reason,
      REASONS[error.reason] ?? 'It breaks a rule that every stamp keeps.',
    )
  }
}

const refused = (reason: string, text: string): StampCheck => ({ kind: 'refused', reason, text })

function names(fragment: string, stamp: string): boolean {
  try {
    return encodeBase64url(decodeBase64url(fragment)) === encodeBase64url(entryHash(stamp))
  } catch {
    return false
  }
}

const REASONS: { readonly [R in RefusalReason]?: string } = {
  bad_signature: 'The signature does not fit: the stamp was changed, or another key made it.',
  kid_mismatch: 'It is signed by another key than that of the device it names.',
  unknown_signer: 'It is signed by a key that does not belong there.',
  revoked_signer: 'The device that signed it was already revoked.',
  revoked_key: 'The key that signed it is revoked, and no receipt shows that it came in before.',
  key_log_mismatch: 'The device list shown with it is not the one that it was made under.',
  wrong_version: 'It was made in a version of the protocol that is no longer read.',
  wrong_account: 'The device list shown with it belongs to another account.',
  account_mismatch:
    'The first keys of the device list are not those that its account id stands for.',
  key_log_forked: 'The device list shown with it contradicts itself.',
  gap: 'The device list shown with it is incomplete.',
  receipt_mismatch: 'The receipt shown with it belongs to another stamp.',
  assurance_claimed: 'It claims an assurance that only a receipt of the server can give.',
}

/**
 * The largest file in bytes. WebCrypto digests one buffer; a larger one does not fit into memory
 * everywhere.
 */
const LARGEST = 1024 ** 3

/**
 * Connects the file input and the drop zone of the page; `payload` is that of a verified stamp. A
 * file is compared inside the browser, by its digest, and nothing is sent.
 */
export function fileCheck(payload: StampPayload): void {
  const input = element('file', HTMLInputElement)
  const drop = element('drop', HTMLElement)
  let latest = 0

  const take = async (file: File | undefined) => {
    if (file === undefined) return
    const mine = ++latest
    const answer = (kind: string, text: string) => {
      if (mine === latest) say(element('match', HTMLElement), kind, text)
    }
    answer('wait', `Comparing ${file.name} …`)
    if (file.size > LARGEST) {
      answer(
        'warn',
        'That is too large for a browser. On the command line: countersignd stamp verify FILE STAMP',
      )
      return
    }
    try {
      const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer())
      const same = encodeBase64url(new Uint8Array(digest)) === payload.sha256
      const fits = payload.len === null || payload.len === file.size
      if (same && fits) answer('ok', `Match: ${file.name} is the stamped file, byte for byte.`)
      else answer('bad', `No match: ${file.name} is not what was stamped, or it was changed since.`)
    } catch {
      answer('warn', `The browser could not read ${file.name}. A folder cannot be compared.`)
    }
  }

  input.addEventListener('change', () => {
    void take(input.files?.[0])
    // So that the same file, which may have been saved again, counts as a change.
    input.value = ''
  })
  // On the whole page, since the browser would open a file dropped beside the zone.
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
