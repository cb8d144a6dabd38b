/**
 * Consents (section 4): an account agrees that one inviter adds it to a connection. The `add`
 * that makes it a member carries the consent, so no owner and no server can add an account
 * without its consent, nor use one consent twice.
 */
import { encodeBase64url } from '../encoding/base64url.ts'
import { ID_PREFIX } from '../encoding/id.ts'
import { parseJws, type ParsedJws } from '../jose/jws.ts'
import { signJws } from '../jose/jws-signature.ts'
import { signerAt, verifySignedBy } from './key-log-ops.ts'
import type { KeyLog } from './key-log.ts'
import { accountId, base64url, idWithPrefix, natural, payload, place } from './payload.ts'
import { requireThat, onRefusal, Refusal, type RefusalReason } from '../refusal.ts'

const readPayload = payload({
  connection: idWithPrefix(ID_PREFIX.connection),
  inviter: accountId,
  account: accountId,
  device: idWithPrefix(ID_PREFIX.device),
  key_log: place,
  roster_head: base64url(32),
  at: natural,
})
type Payload = ReturnType<typeof readPayload>

/** A parsed consent: `rosterHead` is base64url of the hash of a roster entry. */
type Consent = Payload & { readonly jws: ParsedJws }

/**
 * Signs a consent with the signing key of a device of the account. Returns the JWS.
 * @param of `keyLog`: the newest place of the account's key log; `rosterHead`: the hash of the
 *   newest roster entry that the inviter names, 32 bytes; `at`: Unix seconds, which decide
 *   nothing; `seed`: 32 bytes
 * @throws Refusal as `readConsent`; `bad_length`
 */
export function signConsent(of: {
  connection: string
  inviter: string
  account: string
  device: string
  keyLog: { seq: number; head: Uint8Array }
  rosterHead: Uint8Array
  at: number
  kid: string
  seed: Uint8Array
}): string {
  const { connection, inviter, account, device, keyLog, rosterHead, at, kid, seed } = of
  const consent: Payload = {
    v: 2,
    connection,
    inviter,
    account,
    device,
    key_log: { seq: keyLog.seq, head: encodeBase64url(keyLog.head) },
    roster_head: encodeBase64url(rosterHead),
    at,
  }
  const jws = signJws('consent+jws', kid, consent, seed)
  readConsent(jws)
  return jws
}

/**
 * Reads the form of a consent; nothing is verified yet.
 * @throws Refusal `bad_consent` for every fault of the form
 */
export function readConsent(text: string): Consent {
  return asBadConsent(() => {
    const jws = parseJws(text, 'consent+jws')
    return { ...readPayload(jws.payload), jws }
  })
}

/**
 * Verifies a consent as an `add` carries it, except for its `roster_head`.
 * @param add members of the entry: `memberLog` is the seq of its `member_log`
 * @param log the verified key log of the member, which has entry `memberLog`
 * @param proven whether the signature was verified before, by a key log with the same places
 * @throws Refusal `bad_consent`, `consent_mismatch`, `consent_log`
 */
export function verifyConsent(
  text: string,
  add: { connection: string; inviter: string; account: string; memberLog: number },
  log: KeyLog,
  proven = false,
): Consent {
  const consent = readConsent(text)
  const isSame =
    consent.connection === add.connection &&
    consent.inviter === add.inviter &&
    consent.account === add.account
  requireThat(
    isSame,
    'consent_mismatch',
    'the consent is for another connection, inviter or account',
  )

  const { seq, head } = consent.key_log
  const known = log.heads[seq]
  const isPlace = known !== undefined && encodeBase64url(known) === head
  requireThat(isPlace, 'consent_log', 'key_log is not a place in the key log of the member')
  requireThat(seq <= add.memberLog, 'consent_log', 'key_log is later than member_log')
  // A reset revokes every device: a device active at both places is of one generation at both.
  const signer = asReason('consent_log', () => {
    signerAt(log, consent.device, seq)
    return signerAt(log, consent.device, add.memberLog)
  })
  asBadConsent(() => verifySignedBy(signer, consent.jws, proven))
  return consent
}

const asBadConsent = <T>(work: () => T): T => asReason('bad_consent', work)

/** Replaces the reason of every refusal, with the refusal as the cause. */
function asReason<T>(reason: RefusalReason, work: () => T): T {
  return onRefusal(
    work,
    (cause) => new Refusal(reason, `the consent: ${cause.message}`, {}, { cause }),
  )
}
