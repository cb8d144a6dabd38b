/**
 * Compares a file with a stamp inside the browser. Only its digest is used, and nothing is sent.
 */
import { encodeBase64url } from '../crypto/encoding/base64url.ts'
import type { StampPayload } from '../crypto/stamp.ts'
import { element, say } from './element.ts'

/**
 * The largest file in bytes. WebCrypto digests one buffer; a larger one does not fit into memory
 * everywhere.
 */
const LARGEST = 1024 ** 3

/**
 * Connects the file input and the drop zone of the page; `payload` is that of a verified stamp.
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
