/**
 * Deleting an account: every row of it goes, in one transaction, and what others keep of it is what they were told and what it signed
 * in their connections. Organisations in which nobody else is active go with it, and so do their machine accounts.
 */
import type { Expression, Transaction } from 'kysely'
import type { Session } from '../../api/port.ts'
import { touchConnectionsOf } from '../connections/connection-rows.ts'
import { departFrom } from '../connections/deleted-members.ts'
import { requireNoFreshReset } from './deletion-wait.ts'
import { demandApproved, holdDevices } from '../accounts/device-rows.ts'
import { notFound } from '../db/faults.ts'
import type { Ground } from '../context.ts'
import { ENDED, receiversOf } from '../connections/invitation-ends.ts'
import { isStanding } from '../connections/invitation-rows.ts'
import { lockAccount } from '../db/locks.ts'
import { demandHeld, endingWith, holdOrganisations } from '../organisations/deletion.ts'
import type { Schema } from '../db/schema.ts'

/** The mailboxes of an account. Those that it only claimed are others': so are the codes and letters that go there. */
async function mailboxesOf(trx: Transaction<Schema>, account: string): Promise<string[]> {
  const rows = await trx
    .selectFrom('emails')
    .select('address')
    .where('account_id', '=', account)
    .execute()
  return rows.map(({ address }) => address)
}

/** What names an account, its devices or its mailboxes without hanging on their rows. */
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
        // What others were answered of it: asked again, there is no such account.
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

/** Others keep what they were told of an account, and no way to it: also who left before, and where the connection is gone. */
async function unlink(trx: Transaction<Schema>, account: string): Promise<void> {
  const told = `"user_id":${JSON.stringify(account)}`
  await trx
    .updateTable('notifications')
    .set((of) => {
      const without = (text: Expression<string>, part: string) =>
        of.fn<string>('replace', [text, of.val(part), of.val('')])
      // Wherever it stands among the others.
      return { data: [`,${told}`, `${told},`, told].reduce(without, of.ref('data')) }
    })
    .where('data', 'like', `%${account}%`)
    .execute()
}

/** An account that goes, as it is taken from what stays. */
interface Erased {
  readonly mailboxes: readonly string[]
  /** The organisations that it was a member of, in the order of their ids, each with what it was listed by there. */
  readonly left: readonly { readonly organisation_id: string; readonly member_id: string }[]
}

/** Alerts that fire at this moment have told it, or do not any more. Before anything else of it goes that they would wait for. */
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

/** Its organisations keep what happened there, and no way to the account. */
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

/** Delete the rows of an account. Its devices are held. */
async function erase(
  trx: Transaction<Schema>,
  ground: Pick<Ground, 'events'>,
  { account, at }: { account: string; at: number },
): Promise<Erased> {
  // Memberships before invitations, as whoever takes somebody in: in another order the two would wait for each other.
  await touchConnectionsOf(trx, account, at)
  // Whoever takes it in at this moment is done first, or waits. Changes nothing.
  await trx
    .updateTable('invitations')
    .set((of) => ({ consent: of.ref('consent') }))
    .where('to_account', '=', account)
    .execute()
  // Also where it was taken in meanwhile.
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
  // The rest hangs on this row.
  await trx.deleteFrom('accounts').where('id', '=', account).execute()
  await ground.events.publish(trx, { type: 'invitation.withdrawn', receivers, at })
  return { mailboxes, left }
}

/** The machine accounts of organisations. */
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
 * Delete the account that asks.
 * @throws AppError invalid_state: `last_owner` for the only owner of an organisation in which others are, `reset_without_recovery_key`
 *   in the 14 days after such a reset; `invalid_token` or `forbidden` for a device that is not, or no more, an approved one; `not_found` when another request was first. Nothing is deleted then
 */
export async function deleteAccount(ground: Ground, session: Session): Promise<void> {
  const { events, now, scrub, background } = ground
  const { account } = session
  const left = await events.transaction(async (trx) => {
    // In the order in which whoever writes for a device holds rows.
    await holdDevices(trx, account)
    if (session.device !== null) await demandApproved(trx, session)
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
    demandHeld(own.left, held)
    const somebody = await trx.selectFrom('accounts').select('id').limit(1).executeTakeFirst()
    for (const { organisation_id: organisation, member_id: member } of own.left)
      await events.publish(trx, { type: 'organisation.left', organisation, member, at: now() })
    return { mailboxes: own.mailboxes, isLast: somebody === undefined }
  })
  // It is done: what lies beside the rows must not say otherwise.
  const cleared = scrub(left)
  background.run(() => cleared)
  await cleared.catch(() => undefined)
}
