/** What an envelope (section 4) holds: for whoever passes it on and loads nothing to open it. */
import { PREFIX } from './id.ts'
import { base64url, epochNumber, id, payload } from './payload.ts'

/** The payload of an envelope, in exactly this form. Throws what the payload throws. */
export const readEnvelope = payload({
  connection: id(PREFIX.connection),
  epoch: epochNumber,
  epoch_head: base64url(32),
  sender: id(PREFIX.device),
  recipient: id(PREFIX.device),
  recipient_kid: base64url(32),
  enc: base64url(),
  ct: base64url(),
})
