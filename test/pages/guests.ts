/** Guest codes of the pages' tests. */
import { codeKey, codeReader, LABEL, ZERO_HEAD } from '../../src/crypto/code.ts'
import { encodeBase64url } from '../../src/crypto/encoding/base64url.ts'
import { ID_PREFIX, newId, parseId } from '../../src/crypto/encoding/id.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import { T0 } from './browser.ts'
import type { Site } from './site.ts'

/** Creates a guest code on the site, and the words of both sides by src/crypto. */
export function guestOn(site: Site, ownerName = 'Ann Ode', guestName: string | null = null) {
  const id = newId(ID_PREFIX.guest, T0)
  const accountId = newId(ID_PREFIX.account, T0)
  site.guests.set(id, { accountId, ownerName, guestName, expiresAt: null, state: 'active' })
  const secret = crypto.getRandomValues(new Uint8Array(32))
  const subject = parseId(ID_PREFIX.guest, id)
  const kc = codeKey({ label: LABEL.guest, key: secret, subject, epoch: 1, head: ZERO_HEAD })
  const read = codeReader(kc)
  const account = parseId(ID_PREFIX.account, accountId)
  const path = `/g/${id}`
  return {
    id,
    accountId,
    secret,
    fragment: encodeBase64url(secret),
    path,
    plain: site.origin + path,
    link: `${site.origin}${path}#${encodeBase64url(secret)}`,
    own: (window: number) => wordsAt(read(window, subject)).join(' '),
    theirs: (window: number) => wordsAt(read(window, account)).join(' '),
  }
}
