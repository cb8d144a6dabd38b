/**
 * Consents (section 4): an account agrees that one inviter adds it to a connection.
 *
 * The `add` entry that makes the account a member contains the consent. Therefore no owner and no
 * server can add an account without its consent, or use one consent twice.
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

/** A parsed consent. `rosterHead` is the hash of a roster entry in base64url. */
type Consent = Payload & { readonly jws: ParsedJws }

/**
 * Signs a consent with the signing key of one of the account's devices. Returns the JWS.
 * @param of `keyLog`: the newest place in the account's key log; `rosterHead`: the hash (32 bytes)
 * of the newest roster entry, as the inviter states it; `at`: Unix seconds, for information only;
 * `seed`: 32 bytes
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
 * Parses a consent and checks its form. Nothing is verified.
 * @throws Refusal `bad_consent` for every fault of the form
 */
export function readConsent(text: string): Consent {
  return asBadConsent(() => {
    const jws = parseJws(text, 'consent+jws')
    return { ...readPayload(jws.payload), jws }
  })
}

/**
 * Verifies the consent in an `add` entry, except for its `roster_head`.
 * @param add members of the entry; `memberLog` is the seq in its `member_log`
 * @param log the member's verified key log, which must have an entry `memberLog`
 * @param proven whether the signature was verified earlier, with a key log that has the same places
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
  requireThat(seq <= add.memberLog, 'consent_log', 'key_log must not be later than member_log')
  // A reset revokes every device, so a device that is active at both places belongs to the same
  // generation at both.
  const signer = asReason('consent_log', () => {
    signerAt(log, consent.device, seq)
    return signerAt(log, consent.device, add.memberLog)
  })
  asBadConsent(() => verifySignedBy(signer, consent.jws, proven))
  return consent
}

const asBadConsent = <T>(work: () => T): T => asReason('bad_consent', work)

/** Replaces the reason of every refusal. The original refusal becomes the cause. */
function asReason<T>(reason: RefusalReason, work: () => T): T {
  return onRefusal(
    work,
    (cause) => new Refusal(reason, `the consent: ${cause.message}`, {}, { cause }),
  )
}
