/** Marks for syncs what changes with an account's key log, its devices and its name. */
import { markChanged } from '../db/sync-marks.ts'
import type { Subscriber } from '../events.ts'

/** Makes the account's own devices read the key log and the signed name. */
export const markKeyLog: Subscriber<'key_log.appended' | 'profile.signed'> = (
  { trx },
  { account },
) => markChanged(trx, ['key_log'], { accounts: [account] })

/** Makes the account's own devices read the list of devices, which shows their keys. */
export const markDevices: Subscriber<'key_log.appended'> = ({ trx }, { account }) =>
  markChanged(trx, ['devices'], { accounts: [account] })

/** Makes followers' devices read their trust cards, which show the name and a reset. */
export const markFollowers: Subscriber<'account.reset' | 'profile.signed'> = (
  { trx },
  { account },
) => markChanged(trx, ['trust_cards'], { followersOf: [account] })
