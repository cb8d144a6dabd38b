/**
 * Deletion of an account: one transaction deletes every row of it. Other accounts keep the
 * notifications they received, and its signatures in their connections. Organisations without
 * another active person are deleted with it, and so are their machine accounts.
 *
 * After a reset without its recovery key, an account cannot be deleted for a time. A person who
 * reads the owner's mail can make such a reset. The owner can undo it with the recovery paper while
 * the account exists.
 */
import type { Expression, Kysely, Transaction } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import type { CallerSession, Service } from '../../api/port.ts'
import { resetsWithoutKey } from '../../crypto/logs/generations.ts'
import { AppError } from '../../errors.ts'
import { holdDevices, requireApproved } from '../accounts/device-rows.ts'
import { entriesOf } from '../accounts/key-log-rows.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'
import { touchConnectionsOf } from '../connections/connection-rows.ts'
import { departFrom } from '../connections/deleted-members.ts'
import { ENDED, receiversOf } from '../connections/invitation-ends.ts'
import { isStanding } from '../connections/invitation-rows.ts'
import type { ServiceContext } from '../context.ts'
import { notFound } from '../db/faults.ts'
import { lockAccount } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'
import { endingWith, holdOrganisations, requireHeld } from '../organisations/deletion.ts'

const WAIT_MS = 14 * 24 * 3_600_000

const tooEarly = (reset: number) =>
  new AppError(
    'invalid_state',
    `This account was reset on ${timeAt(reset)} without the recovery key that was in force. It can be deleted from ${timeAt(reset + WAIT_MS)} on, so that the owner of that key can recover it until then. ` +
      'A reset with that key ("countersignd reset --recovery-key") ends the wait. Nothing was deleted.',
    { details: { state: 'reset_without_recovery_key' } },
  )

/**
 * Requires that an account was not reset without its recovery key in the last 14 days. The time
 * is that at which this server stored the reset. A later reset with the key cancels that one.
 * @param at Unix milliseconds
 * @throws AppError `invalid_state`
 */
async function requireNoFreshReset(db: Kysely<Schema>, account: string, at: number): Promise<void> {
  const { entries, storedAt } = await entriesOf(db, account)
  if (entries.length === 0) return
  const { generations } = await storedKeyLog(account, entries)
  const newest = Math.max(...resetsWithoutKey(generations).map((seq) => storedAt[seq]!))
  if (at < newest + WAIT_MS) throw tooEarly(newest)
}

/**
 * Returns the proven mailboxes of an account. Claimed mailboxes may belong to others, and so may
 * the codes and letters sent to them.
 */
async function mailboxesOf(trx: Transaction<Schema>, account: string): Promise<string[]> {
  const rows = await trx
    .selectFrom('emails')
    .select('address')
    .where('account_id', '=', account)
    .execute()
  return rows.map(({ address }) => address)
}

/**
 * Deletes rows that name an account, its devices or its mailboxes without a foreign key to them.
 */
async function dropLoose(
  trx: Transaction<Schema>,
  account: string,
  mailboxes: readonly string[],
): Promise<void> {
  await trx
    .deleteFrom('enrolment_codes')
    .where((of) =>
      of.or([
        of('account_id', '=', account),
        ...(mailboxes.length === 0 ? [] : [of('email', 'in', mailboxes)]),
      ]),
    )
    .execute()
  await trx
    .deleteFrom('idempotency')
    .where((of) =>
      of.or([
        of('caller', '=', account),
        of(
          'caller',
          'in',
          trx.selectFrom('devices').select('id').where('account_id', '=', account),
        ),
        of(
          'caller',
          'in',
          trx.selectFrom('machine_tokens').select('id').where('account_id', '=', account),
        ),
        // Stored answers of others that name the account: a repeated request then gets the error
        // for an unknown account.
        of('answer', 'like', `%${account}%`),
      ]),
    )
    .execute()
  await trx
    .updateTable('machines')
    .set({ created_by: '' })
    .where('created_by', '=', account)
    .execute()
}

/**
 * Removes the id of the account from the notifications of others. Also from those of previous
 * members and of connections that no longer exist.
 */
async function unlink(trx: Transaction<Schema>, account: string): Promise<void> {
  const told = `"user_id":${JSON.stringify(account)}`
  await trx
    .updateTable('notifications')
    .set((of) => {
      const without = (text: Expression<string>, part: string) =>
        of.fn<string>('replace', [text, of.val(part), of.val('')])
      // In any position among the ids.
      return { data: [`,${told}`, `${told},`, told].reduce(without, of.ref('data')) }
    })
    .where('data', 'like', `%${account}%`)
    .execute()
}

/** The data about a deleted account that later steps need. */
interface Erased {
  readonly mailboxes: readonly string[]
  /**
   * The organisations of the account in the order of their ids, each with its member id there.
   */
  readonly left: readonly { readonly organisation_id: string; readonly member_id: string }[]
}

/**
 * Removes the account from the recipients of alerts. An alert that fires at the same time has
 * notified it or no longer does. Must precede the deletion of rows for which such an alert would
 * wait.
 */
async function hearNoAlerts(trx: Transaction<Schema>, account: string): Promise<void> {
  const alerts = await trx
    .selectFrom('organisation_alert_notify')
    .select('alert_id')
    .where('account_id', '=', account)
    .where('organisation_id', 'in', (of) =>
      of
        .selectFrom('organisation_members')
        .select('organisation_members.organisation_id')
        .where('organisation_members.account_id', '=', account),
    )
    .orderBy('alert_id')
    .execute()
  for (const { alert_id } of alerts)
    await trx
      .deleteFrom('organisation_alert_notify')
      .where('alert_id', '=', alert_id)
      .where('account_id', '=', account)
      .execute()
}

/** Removes the account from its organisations, which keep their activity without its id. */
async function leaveOrganisations(
  trx: Transaction<Schema>,
  account: string,
): Promise<Erased['left']> {
  await trx
    .updateTable('organisation_activities')
    .set({ target: null })
    .where('target', '=', account)
    .execute()
  const left = await trx
    .deleteFrom('organisation_members')
    .where('account_id', '=', account)
    .returning(['organisation_id', 'member_id'])
    .execute()
  return left.toSorted((a, b) => (a.organisation_id < b.organisation_id ? -1 : 1))
}

/** Deletes the rows of an account. The caller has locked its devices. */
async function erase(
  trx: Transaction<Schema>,
  ground: Pick<ServiceContext, 'events'>,
  { account, at }: { account: string; at: number },
): Promise<Erased> {
  // Locks memberships before invitations, in the same order as adding a member. Another order
  // could deadlock.
  await touchConnectionsOf(trx, account, at)
  // Waits for transactions that add the account to a connection, and keeps new ones waiting.
  // Changes nothing.
  await trx
    .updateTable('invitations')
    .set((of) => ({ consent: of.ref('consent') }))
    .where('to_account', '=', account)
    .execute()
  // Again, for connections to which it was added in between.
  await touchConnectionsOf(trx, account, at)
  await lockAccount(trx, account)
  const open = await trx
    .selectFrom('invitations')
    .select(ENDED)
    .where('from_account', '=', account)
    .where((of) => isStanding(of, at))
    .execute()
  const receivers = await receiversOf(trx, open)
  await departFrom(trx, ground, account, at)
  await unlink(trx, account)
  const mailboxes = await mailboxesOf(trx, account)
  await dropLoose(trx, account, mailboxes)
  const left = await leaveOrganisations(trx, account)
  // All other rows are deleted by foreign keys to this one.
  await trx.deleteFrom('accounts').where('id', '=', account).execute()
  await ground.events.publish(trx, { type: 'invitation.withdrawn', receivers, at })
  return { mailboxes, left }
}

/** Returns the machine accounts of organisations. */
async function machinesOf(
  trx: Transaction<Schema>,
  organisations: readonly string[],
): Promise<string[]> {
  if (organisations.length === 0) return []
  const rows = await trx
    .selectFrom('machines')
    .select('account_id')
    .where('organisation_id', 'in', organisations)
    .orderBy('account_id')
    .execute()
  return rows.map(({ account_id }) => account_id)
}

/**
 * Deletes the account of the caller, or nothing if it throws.
 * @throws AppError `invalid_state`: `last_owner` for the only owner of an organisation with other
 *   members, `reset_without_recovery_key` in the 14 days after such a reset; `invalid_token` or
 *   `forbidden` for a device that is not approved or was revoked; `not_found` if another request
 *   deleted the account first
 */
async function deleteAccount(ground: ServiceContext, session: CallerSession): Promise<void> {
  const { events, now, scrub, background } = ground
  const { account } = session
  const left = await events.transaction(async (trx) => {
    // In the lock order of transactions that write for a device.
    await holdDevices(trx, account)
    if (session.device !== null) await requireApproved(trx, session)
    const known = trx.selectFrom('accounts').select('id').where('id', '=', account)
    if ((await known.executeTakeFirst()) === undefined) throw notFound('account')
    await requireNoFreshReset(trx, account, now())
    const held = await holdOrganisations(trx, account)
    const organisations = await endingWith(trx, account)
    await hearNoAlerts(trx, account)
    const machines = await machinesOf(trx, organisations)
    for (const machine of machines) await holdDevices(trx, machine)
    for (const machine of machines) await erase(trx, ground, { account: machine, at: now() })
    if (organisations.length > 0)
      await trx.deleteFrom('organisations').where('id', 'in', organisations).execute()
    const own = await erase(trx, ground, { account, at: now() })
    requireHeld(own.left, held)
    const somebody = await trx.selectFrom('accounts').select('id').limit(1).executeTakeFirst()
    for (const { organisation_id: organisation, member_id: member } of own.left)
      await events.publish(trx, { type: 'organisation.left', organisation, member, at: now() })
    return { mailboxes: own.mailboxes, isLast: somebody === undefined }
  })
  // The account is deleted, so a failure of the clean-up must not turn the answer into an error.
  const cleared = scrub(left)
  background.run(() => cleared)
  await cleared.catch(() => undefined)
}

export const account = (ground: ServiceContext): Service['account'] => ({
  delete: (_, session) => deleteAccount(ground, session),
})

export const deletion = ({ db, now }: ServiceContext): Service['deletion'] => ({
  read: async (_, session) => {
    await requireApproved(db, session)
    await requireNoFreshReset(db, session.account, now())
    await endingWith(db, session.account)
    return { account: session.account }
  },
})
