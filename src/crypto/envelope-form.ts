/**
 * Parses an envelope of suite 1 (section 4), for code that relays envelopes without opening them.
 */
import { utf8ToBytes } from '@noble/hashes/utils.js'
import { ID_PREFIX } from './encoding/id.ts'
import { parseJson } from './encoding/json.ts'
import {
  base64url,
  epochNumber,
  idWithPrefix,
  integer,
  payload,
  type MemberKind,
} from './logs/payload.ts'
import { requireThat } from './refusal.ts'

/** The only suite that exists. */
export const SUITE = 1

const suite: MemberKind<typeof SUITE> = (value) => {
  requireThat(integer(value) === SUITE, 'unknown_suite', `suite must be ${SUITE}`)
  return SUITE
}

const readPayload = payload({
  suite,
  connection: idWithPrefix(ID_PREFIX.connection),
  epoch: epochNumber,
  epoch_head: base64url(32),
  recipient: idWithPrefix(ID_PREFIX.device),
  recipient_kid: base64url(32),
  enc: base64url(1120),
  ct: base64url(48),
})

export type EnvelopeFields = ReturnType<typeof readPayload>
export type EnvelopeHead = Omit<EnvelopeFields, 'enc' | 'ct'>

/**
 * Parses the JSON text of an envelope. Only its form is checked.
 * @throws Refusal as `parseJson` and `payload`; `wrong_version`, `unknown_suite`
 */
export function readEnvelope(text: string): EnvelopeFields {
  return readPayload(parseJson(utf8ToBytes(text)))
}
