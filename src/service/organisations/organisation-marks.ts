/** Marks for syncs what changes in organisations. */
import type { Transaction } from 'kysely'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'
import type { EventOf, Subscriber } from '../events.ts'

/**
 * Marks an organisation as changed for the accounts in it.
 * @param accounts accounts that the change is about, which may not be in the organisation
 */
export const markOrganisation = (
  trx: Transaction<Schema>,
  organisation: string,
  accounts: readonly string[],
): void => markChanged(trx, ['organisations'], { organisations: [organisation], accounts })

type Changes = EventOf<
  | 'machine.created'
  | 'organisation.invited'
  | 'organisation.joined'
  | 'organisation.left'
  | 'organisation.member_changed'
  | 'organisation.roles_widened'
  | 'organisation.group'
>

/** Returns the accounts that a change is about. */
function subjectsOf(event: Changes): readonly string[] {
  switch (event.type) {
    case 'organisation.invited':
      return event.invites.flatMap(({ account }) => account ?? [])
    case 'organisation.joined':
      return [event.account]
    case 'organisation.member_changed':
      return [event.target]
    case 'organisation.roles_widened':
      return event.wider.map(({ id }) => id)
    default:
      return []
  }
}

/** Makes devices of the accounts in an organisation read it again. */
export const markMembers: Subscriber<Changes['type']> = ({ trx }, event) => {
  const { organisation } = event
  const id = typeof organisation === 'string' ? organisation : organisation.id
  markOrganisation(trx, id, subjectsOf(event))
}
