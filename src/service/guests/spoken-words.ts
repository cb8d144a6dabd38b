/** Computes the words of public codes (docs/protocol.md section 6). */
import { codeKey, codeUnder, LABEL, ZERO_HEAD } from '../../crypto/code.ts'
import { decodeBase64url } from '../../crypto/encoding/base64url.ts'
import { ID_PREFIX, parseId } from '../../crypto/encoding/id.ts'
import { keepKey, KEPT_WORDS } from '../../crypto/kept-hmac.ts'

/** A row of an active code, with the secret in base64url. */
export interface ActiveCode {
  readonly account_id: string
  readonly k: string
  readonly turn: number
}

/** Returns a function that computes the words of a code in a window, as one number of 36 bits. */
export function spokenWords({ account_id, k }: ActiveCode): (window: number) => number {
  const subject = parseId(ID_PREFIX.account, account_id)
  const key = decodeBase64url(k)
  const midstates = new Uint32Array(KEPT_WORDS)
  const of = { label: LABEL.public, key, subject, epoch: 1, head: ZERO_HEAD }
  keepKey(codeKey(of), midstates, 0)
  return (window) => codeUnder(midstates, 0, window, subject, 0)
}
