/** The answers about stamps of this device. */
import { timeAt } from '../api/fields.ts'
import { reachableFrom } from '../api/reachable.ts'
import type { Stamp } from '../api/rest/stamp.ts'
import type { ListedStamp } from '../api/rest/stamps.ts'
import { decodeBase64url } from '../crypto/encoding/base64url.ts'
import { parseJws } from '../crypto/jose/jws.ts'
import { readStampPayload, type StampPayload, stampFragment, stampWords } from '../crypto/stamp.ts'
import type { LocalDevice } from '../device/device.ts'
import { assuranceIn, receivedAtIn } from '../device/identity/receipts.ts'
import type { StampRow } from '../state/stamps.ts'

/** Returns what the signer of a stamp states about its content. */
export const claimsIn = ({ sha256, len, media_type, ctx }: StampPayload) => ({
  sha256: Buffer.from(decodeBase64url(sha256)).toString('hex'),
  length: len,
  media_type,
  context: ctx,
})

/** Returns a stamp as the list has it. */
export function listedStamp({ backend }: LocalDevice, { id, jws, receipt }: StampRow): ListedStamp {
  const payload = readStampPayload(parseJws(jws, 'stamp+jws').payload)
  const url = `${backend()}/s/${id}#${stampFragment(jws)}`
  return {
    id,
    words: stampWords(jws).join(' '),
    ...claimsIn(payload),
    signed_at: timeAt(payload.iat * 1000),
    received_at: receipt === null ? null : receivedAtIn(receipt),
    assurance_level: receipt === null ? 'device' : assuranceIn(receipt),
    verification_url: url,
    reachable: reachableFrom(url),
  }
}

/** Returns a stamp with the parts of its file. */
export async function wholeStamp(device: LocalDevice, row: StampRow): Promise<Stamp> {
  const { id, words, signed_at, assurance_level, verification_url, reachable, sha256 } =
    listedStamp(device, row)
  return {
    id,
    words,
    signed_at,
    assurance_level,
    verification_url,
    reachable,
    sha256,
    stamp: row.jws,
    key_log: [...(await device.identity.keyLog()).entries],
    receipt: row.receipt,
  }
}
