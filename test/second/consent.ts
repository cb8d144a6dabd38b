/** Section 4: the consent of an added member. */
import { type Bytes, need, Refused } from './bytes.ts'
import { accountAt, connectionAt, deviceAt } from './ids.ts'
import { bytesAt, countAt, exactly, type JsonObject, objectAt, versionTwo } from './json.ts'
import { type Jws, parseJws, thumbprint, verifyJws } from './jws.ts'
import { deviceAtPlace, fits, generationAt, type KeyLog } from './key-log.ts'

/** A place of a key log. */
export interface Place {
  readonly seq: number
  readonly head: Bytes
}

export function placeAt(object: JsonObject, name: string): Place {
  const found = objectAt(object, name)
  exactly(found, ['seq', 'head'])
  return { seq: countAt(found, 'seq'), head: bytesAt(found, 'head', 32) }
}

export interface Consent {
  readonly jws: Jws
  readonly connection: string
  readonly inviter: string
  readonly account: string
  readonly device: string
  readonly keyLog: Place
  readonly rosterHead: Bytes
}

/** Parses a consent; every fault is `bad_consent`. */
export function readConsent(text: string): Consent {
  return asBadConsent(() => {
    const jws = parseJws(text, 'consent+jws')
    const { payload } = jws
    versionTwo(payload)
    exactly(payload, [
      'v',
      'connection',
      'inviter',
      'account',
      'device',
      'key_log',
      'roster_head',
      'at',
    ])
    countAt(payload, 'at')
    return {
      jws,
      connection: connectionAt(payload, 'connection'),
      inviter: accountAt(payload, 'inviter'),
      account: accountAt(payload, 'account'),
      device: deviceAt(payload, 'device'),
      keyLog: placeAt(payload, 'key_log'),
      rosterHead: bytesAt(payload, 'roster_head', 32),
    }
  })
}

/**
 * Checks the consent against the member’s log, of which only the places up to `memberLog` count.
 * @throws Refused `consent_log`, `bad_consent`
 */
export function checkConsentLog(consent: Consent, log: KeyLog, memberLog: Place): void {
  const { keyLog, device } = consent
  need(keyLog.seq <= memberLog.seq && fits(log, keyLog.seq, keyLog.head), 'consent_log')
  need(generationAt(log, keyLog.seq) === generationAt(log, memberLog.seq), 'consent_log')
  const signer = deviceAtPlace(log, keyLog.seq, device)
  const later = deviceAtPlace(log, memberLog.seq, device)
  if (signer === undefined || later === undefined) throw new Refused('consent_log')
  need(signer.revokedAt === null && later.revokedAt === null, 'consent_log')
  need(consent.jws.kid === thumbprint(signer.sign), 'bad_consent')
  asBadConsent(() => verifyJws(consent.jws, signer.sign))
}

function asBadConsent<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (error instanceof Refused) throw new Refused('bad_consent', error.message)
    throw error
  }
}
