/**
 * Account deletion: one transaction deletes every row of an account. Other accounts keep the
 * notifications that they received, and the account's signatures in their connections. An
 * organisation with no other active person is deleted too, with its machine accounts.
 *
 * An account cannot be deleted for 14 days after a reset without its recovery key. A person who can
 * read the owner's mail can make such a reset. The owner can undo it with the recovery key, but
 * only while the account exists.
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
import { markInvitationsOf } from '../accounts/invitation-marks.ts'
import { occupiesPlace } from '../connections/invitation-rows.ts'
import type { ServiceContext } from '../context.ts'
import { notFound } from '../db/faults.ts'
import { lockAccount } from '../db/locks.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged, markSessionEnded, writeMarks } from '../db/sync-marks.ts'
import { endingWith, lockOrganisations, requireHeld } from '../organisations/deletion.ts'

const WAIT_MS = 14 * 24 * 3_600_000

const tooEarly = (reset: number) =>
  new AppError(
    'invalid_state',
    `This account was reset on ${timeAt(reset)} without the recovery key that was in force. It can be deleted from ${timeAt(reset + WAIT_MS)} on, so that the owner of that key can recover it until then. ` +
      'A reset with that key ("countersignd reset --recovery-key") ends the wait. Nothing was deleted.',
    { details: { state: 'reset_without_recovery_key' } },
  )

/**
 * Checks that the account was not reset without its recovery key in the last 14 days. The time of a
 * reset is when this server stored it. A later reset with the key cancels it.
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
 * Returns an account's confirmed mailboxes. Claimed mailboxes are left out, because they, and the
 * codes and letters sent to them, may belong to others.
 */
async function mailboxesOf(trx: Transaction<Schema>, account: string): Promise<string[]> {
  const rows = await trx
    .selectFrom('emails')
    .select('address')
    .where('account_id', '=', account)
    .execute()
  return rows.map(({ address }) => address)
}

/** Deletes rows that refer to an account, its devices or its mailboxes without a foreign key. */
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
        // Other callers' stored answers that contain the account's id. If such a request is
        // repeated, it gets the error for an unknown account.
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
 * Removes the account's id from other accounts' notifications. These include notifications of
 * former members, and of connections that no longer exist.
 */
async function unlink(trx: Transaction<Schema>, account: string): Promise<void> {
  const field = `"user_id":${JSON.stringify(account)}`
  const rows = await trx
    .updateTable('notifications')
    .set((of) => {
      const without = (text: Expression<string>, part: string) =>
        of.fn<string>('replace', [text, of.val(part), of.val('')])
      // The id may be at any position in the JSON object, so the comma before or after it is
      // removed too.
      return { data: [`,${field}`, `${field},`, field].reduce(without, of.ref('data')) }
    })
    .where('data', 'like', `%${account}%`)
    .returning('account_id')
    .execute()
  markChanged(trx, ['notifications'], { accounts: rows.map(({ account_id }) => account_id) })
}

/** What later steps need to know of a deleted account. */
interface Erased {
  readonly mailboxes: readonly string[]
  /**
   * The account's organisations, with its member id in each, in the order of the organisations'
   * ids.
   */
  readonly left: readonly { readonly organisation_id: string; readonly member_id: string }[]
}

/**
 * Removes the account from the recipients of alerts. If an alert fires at the same time, the
 * account is notified before the removal or not at all. Must be called before the account's other
 * rows are deleted: a firing alert could wait for the locks of those rows, which is a deadlock.
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

/** Removes the account from its organisations. Their activity stays, without the account's id. */
async function leaveOrganisations(
  trx: Transaction<Schema>,
  account: string,
): Promise<Erased['left']> {
  await trx
    .updateTable('organisation_activities')
    .set({ target: null })
    .where('target', '=', account)
    .execute()
  const organisations = await trx
    .selectFrom('organisation_members')
    .select('organisation_id')
    .where('account_id', '=', account)
    .execute()
  markChanged(trx, ['organisations'], {
    organisations: organisations.map(({ organisation_id }) => organisation_id),
  })
  const left = await trx
    .deleteFrom('organisation_members')
    .where('account_id', '=', account)
    .returning(['organisation_id', 'member_id'])
    .execute()
  return left.toSorted((a, b) => (a.organisation_id < b.organisation_id ? -1 : 1))
}

/** Deletes an account's rows. The caller must have locked its devices. */
async function erase(
  trx: Transaction<Schema>,
  ground: Pick<ServiceContext, 'events'>,
  { account, at }: { account: string; at: number },
): Promise<Erased> {
  // Memberships are locked before invitations, in the same order as when a member is added. Another
  // order could deadlock.
  await touchConnectionsOf(trx, account, at)
  // This update changes nothing. Its locks wait for transactions that add the account to a
  // connection, and make new ones wait.
  await trx
    .updateTable('invitations')
    .set((of) => ({ consent: of.ref('consent') }))
    .where('to_account', '=', account)
    .execute()
  // Repeated for connections to which the account was added in between.
  await touchConnectionsOf(trx, account, at)
  await lockAccount(trx, account)
  const open = await trx
    .selectFrom('invitations')
    .select(ENDED)
    .where('from_account', '=', account)
    .where((of) => occupiesPlace(of, at))
    .execute()
  const receivers = await receiversOf(trx, open)
  await markInvitationsOf(trx, account)
  await departFrom(trx, ground, account, at)
  await unlink(trx, account)
  const mailboxes = await mailboxesOf(trx, account)
  await dropLoose(trx, account, mailboxes)
  const left = await leaveOrganisations(trx, account)
  // The account's own marks are locked with the others, in their order, before they are deleted.
  markChanged(trx, ['trust_cards'], { accounts: [account], followersOf: [account] })
  markSessionEnded(trx, account)
  await writeMarks(trx)
  // Foreign keys to this row delete all other rows.
  await trx.deleteFrom('accounts').where('id', '=', account).execute()
  await ground.events.publish(trx, { type: 'invitation.withdrawn', receivers, at })
  return { mailboxes, left }
}

/** Returns the account ids of the organisations' machine accounts. */
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
 * Deletes the caller's account. If it throws, nothing is deleted.
 * @throws AppError `invalid_state` with the state `last_owner` for the only owner of an
 *   organisation with other members, or `reset_without_recovery_key` in the 14 days after such a
 *   reset; `forbidden` for a device that is not approved; `invalid_token` for a revoked device;
 *   `not_found` if another request deleted the account first
 */
async function deleteAccount(ground: ServiceContext, session: CallerSession): Promise<void> {
  const { events, now, scrub, background } = ground
  const { account } = session
  const left = await events.transaction(async (trx) => {
    // Devices are locked first, as in all transactions that write for a device.
    await holdDevices(trx, account)
    if (session.device !== null) await requireApproved(trx, session)
    const known = trx.selectFrom('accounts').select('id').where('id', '=', account)
    if ((await known.executeTakeFirst()) === undefined) throw notFound('account')
    await requireNoFreshReset(trx, account, now())
    const locked = await lockOrganisations(trx, account)
    const organisations = await endingWith(trx, account)
    await hearNoAlerts(trx, account)
    const machines = await machinesOf(trx, organisations)
    for (const machine of machines) await holdDevices(trx, machine)
    for (const machine of machines) await erase(trx, ground, { account: machine, at: now() })
    if (organisations.length > 0)
      await trx.deleteFrom('organisations').where('id', 'in', organisations).execute()
    const own = await erase(trx, ground, { account, at: now() })
    requireHeld(own.left, locked)
    const somebody = await trx.selectFrom('accounts').select('id').limit(1).executeTakeFirst()
    for (const { organisation_id: organisation, member_id: member } of own.left)
      await events.publish(trx, { type: 'organisation.left', organisation, member, at: now() })
    return { mailboxes: own.mailboxes, isLast: somebody === undefined }
  })
  // The account is deleted at this point, so a failure of the clean-up must not turn the answer
  // into an error.
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
