/** The notifications of events of guest codes. */
import type { Transaction } from 'kysely'
import { notify } from '../mail/notices.ts'
import { named } from '../mail/quoting.ts'
import type { Schema } from '../db/schema.ts'

/** The owner of a guest code is told that its page was opened, the first time. */
export const tellOfOpening = (
  trx: Transaction<Schema>,
  of: { account: string; guest: string; label: string },
  at: number,
): Promise<void> =>
  notify(
    trx,
    of.account,
    {
      kind: 'guest_code_opened',
      title: 'The page of a guest code was opened',
      body: `The page of the guest code ${named(of.label)} was opened for the first time. If your guest cannot have been that, revoke it.`,
      data: { guest_code_id: of.guest },
    },
    at,
  )
