/**
 * Signatures of many entries that came from the account server, verified in slices. A signature that
 * verified costs a hash when the whole log is verified then (`verifyJws`).
 */
import { verifyConsent } from '../crypto/consent.ts'
import type { LoggedKeys } from '../crypto/device-public-keys.ts'
import { thumbprint } from '../crypto/jwk.ts'
import { readEntry as readKeyLogEntry } from '../crypto/key-log-form.ts'
import { verifySignedBy } from '../crypto/key-log.ts'
import { type KeyLogs, readEntry } from '../crypto/roster.ts'
import { inSlices } from './slices.ts'

/** Fewer are verified at once, in the turn that decides. */
const FEW = 8

/**
 * Verifies the signatures of a key log from entry `from` on, as far as they are right.
 * @param entries the whole log, as JWSs
 */
export async function verifyKeyLogAhead(entries: readonly string[], from: number): Promise<void> {
  if (entries.length - from <= FEW) return
  const signers = new Map<string, { kid: string; keys: LoggedKeys }>()
  await inSlices(entries.entries(), ([seq, jws]) => {
    const entry = readKeyLogEntry(jws)
    if (entry.op === 'add' || entry.op === 'reset') {
      const { device, keys } = entry
      signers.set(device, { kid: thumbprint(keys.sign), keys })
    }
    const signer = signers.get(entry.by)
    if (seq >= from && signer !== undefined) verifySignedBy(signer, entry.jws)
  })
}

/** The same of a roster, with the consents in it. */
export async function verifyRosterAhead(
  entries: readonly string[],
  from: number,
  keyLogs: KeyLogs,
): Promise<void> {
  if (entries.length - from <= FEW) return
  await inSlices(entries.slice(from), (jws) => {
    const entry = readEntry(jws)
    const { connection, actor: inviter, device, member, member_log, consent } = entry
    const signer = keyLogs.get(inviter)?.devices.get(device)
    if (signer !== undefined) verifySignedBy(signer, entry.jws)
    const log = member === undefined ? undefined : keyLogs.get(member)
    if (log === undefined || member_log === undefined || consent === undefined) return
    const { account } = log
    verifyConsent(consent, { connection, inviter, account, memberLog: member_log.seq }, log)
  })
}
