/**
 * Consents (protocol, section 4). A device approves an invitation by signing a consent: its account
 * agrees that the inviter adds it. The server checks what it can, and relays the consent to the
 * inviter's devices, which put it into their `add` entry.
 */
import type { Service } from '../../api/port.ts'
import { encodeBase64url } from '../../crypto/encoding/base64url.ts'
import { verifyConsent } from '../../crypto/logs/consent.ts'
import { entryHash } from '../../crypto/jose/jws.ts'
import { requireThat } from '../../crypto/refusal.ts'
import { isFreshHead } from '../../crypto/logs/roster.ts'
import { requireApproved } from '../accounts/device-rows.ts'
import { verified } from '../db/faults.ts'
import type { ServiceContext } from '../context.ts'
import { approvable, invitationAnswers } from './invitations.ts'
import { readKeyLog } from '../accounts/key-log-rows.ts'
import { newestRosterEntry, rosterEntries } from './roster-rows.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'

const headOf = (entry: string): string => encodeBase64url(entryHash(entry))

export const consents = (ground: ServiceContext): Service['consents'] => {
  const { db } = ground
  return {
    wanted: async ({ invitation }, session) => {
      await requireApproved(db, session)
      const row = await approvable(ground, { id: invitation, account: session.account })
      const entry = await newestRosterEntry(db, row.connection_id)
      return {
        connection: row.connection_id,
        inviter: row.from_account,
        roster_head: headOf(entry),
      }
    },

    give: async ({ body: { invitation, consent } }, session) => {
      const { account } = session
      const device = await requireApproved(db, session)
      const row = await approvable(ground, { id: invitation, account })
      const { entries } = await readKeyLog(db, account)
      const log = await storedKeyLog(account, entries)
      const { connection_id: connection, from_account: inviter } = row
      const { roster_head } = verified('consent', () => {
        const of = { connection, inviter, account, memberLog: log.seq }
        const signed = verifyConsent(consent, of, log)
        requireThat(
          signed.device === device,
          'unknown_signer',
          'the consent is signed by another device',
        )
        return signed
      })
      return invitationAnswers(ground).approve(invitation, account, consent, async (trx) => {
        const newest = await newestRosterEntry(trx, connection)
        // A device that follows the protocol names the newest entry. In that case the other entries
        // need not be read.
        const isNewest = headOf(newest) === roster_head
        const entries = isNewest ? [newest] : await rosterEntries(trx, connection)
        const message = 'roster_head is not an entry of the roster since the account last left'
        const isFresh = () => isFreshHead(entries, account, roster_head)
        verified('consent', () => requireThat(isFresh(), 'consent_stale', message))
      })
    },
  }
}
