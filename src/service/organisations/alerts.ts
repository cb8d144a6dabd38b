/**
 * The alerts of an organisation: their rules, and the members that each alert notifies.
 * `alert-firing.ts` fires them.
 */
import type { Kysely, Transaction } from 'kysely'
import { timeAt } from '../../api/fields.ts'
import { invalid } from '../../api/input.ts'
import type { Service } from '../../api/port.ts'
import type { OrgAlert, OrgEvent } from '../../api/rest/org.ts'
import { newId } from '../../crypto/encoding/id.ts'
import type { ServiceContext } from '../context.ts'
import { collection } from '../db/collections.ts'
import { strangersAmong } from './member-rows.ts'
import { managing, requireActing } from './organisations.ts'
import type { Schema } from '../db/schema.ts'

const ALERT_PREFIX = 'alr_'

type Row = Schema['organisation_alerts']

const resource = (row: Row, notify: readonly string[]): OrgAlert => ({
  id: row.id,
  name: row.name,
  event: row.event as OrgEvent,
  threshold: row.threshold,
  window_minutes: row.window_minutes,
  enabled: row.enabled === 1,
  notify: [...notify],
  last_fired_at: row.last_fired_at === null ? null : timeAt(row.last_fired_at),
  created_at: timeAt(row.created_at),
})

/** Converts rows to resources, each with the ids of the accounts that it notifies, in order. */
async function resources(rows: readonly Row[], db: Kysely<Schema>): Promise<OrgAlert[]> {
  if (rows.length === 0) return []
  const recipients = await db
    .selectFrom('organisation_alert_notify')
    .select(['alert_id', 'account_id'])
    .where(
      'alert_id',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('account_id')
    .execute()
  const byAlert = Map.groupBy(recipients, ({ alert_id }) => alert_id)
  return rows.map((row) =>
    resource(
      row,
      (byAlert.get(row.id) ?? []).map(({ account_id }) => account_id),
    ),
  )
}

const alerts = collection({
  prefix: ALERT_PREFIX,
  what: 'alert',
  owner: 'organisation',
  most: 100,
  select: (db, organisation) =>
    db.selectFrom('organisation_alerts').selectAll().where('organisation_id', '=', organisation),
  resources,
})

/**
 * Sets the accounts that an alert notifies.
 * @throws AppError `validation_failed`, with an issue for each id that is not a member's
 */
async function tell(
  trx: Transaction<Schema>,
  of: { organisation: string; alert: string; accounts: readonly string[] },
): Promise<void> {
  const { organisation, alert, accounts } = of
  const issues = await strangersAmong(trx, organisation, { path: 'notify', ids: accounts })
  if (issues.length > 0) throw invalid('body', issues)
  await trx.deleteFrom('organisation_alert_notify').where('alert_id', '=', alert).execute()
  if (accounts.length === 0) return
  await trx
    .insertInto('organisation_alert_notify')
    .values(
      [...new Set(accounts)].map((account_id) => ({
        alert_id: alert,
        organisation_id: organisation,
        account_id,
      })),
    )
    .execute()
}

/** Returns whether two alerts are equal as resources. */
const isSame = (a: OrgAlert, b: OrgAlert): boolean => JSON.stringify(a) === JSON.stringify(b)

export const orgAlerts = (ground: ServiceContext): Service['orgAlerts'] => {
  const { db, events, now } = ground

  const publish = (
    trx: Transaction<Schema>,
    organisation: string,
    of: { event: OrgEvent; actor: string; alert: Pick<OrgAlert, 'id' | 'name'> },
  ): Promise<void> => {
    const { event, actor, alert } = of
    return events.publish(trx, {
      type: 'organisation.alert',
      organisation,
      change: event,
      actor,
      target: alert.id,
      data: { name: alert.name },
      at: now(),
    })
  }

  return {
    list: async (page, session) => {
      const { id: organisation } = await requireActing(db, session)
      return alerts.list(db, organisation, page)
    },

    create: ({ body: { enabled, notify, ...rule } }, session) =>
      managing(events, session, async (trx, { id: organisation }) => {
        await alerts.requireRoom(trx, organisation)
        const at = now()
        const id = newId(ALERT_PREFIX, at)
        await trx
          .insertInto('organisation_alerts')
          .values({
            id,
            organisation_id: organisation,
            ...rule,
            enabled: enabled ? 1 : 0,
            last_fired_at: null,
            created_at: at,
          })
          .execute()
        await tell(trx, { organisation, alert: id, accounts: notify })
        const alert = await alerts.read(trx, organisation, id)
        await publish(trx, organisation, { event: 'alert_created', actor: session.account, alert })
        return alerts.read(trx, organisation, id)
      }),

    update: ({ id, body: { enabled, notify, ...rule } }, session) =>
      managing(events, session, async (trx, { id: organisation }) => {
        const before = await alerts.read(trx, organisation, id)
        const set = {
          ...rule,
          ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0 }),
          // If the event changes, the alert has never fired for the new event.
          ...(rule.event === undefined || rule.event === before.event
            ? {}
            : { last_fired_at: null }),
        }
        if (Object.keys(set).length > 0)
          await trx
            .updateTable('organisation_alerts')
            .set(set as Partial<Row>)
            .where('id', '=', id)
            .execute()
        if (notify !== undefined) await tell(trx, { organisation, alert: id, accounts: notify })
        const alert = await alerts.read(trx, organisation, id)
        if (isSame(alert, before)) return before
        await publish(trx, organisation, { event: 'alert_updated', actor: session.account, alert })
        return alerts.read(trx, organisation, id)
      }),

    delete: ({ id }, session) =>
      managing(events, session, async (trx, { id: organisation }) => {
        const alert = await alerts.read(trx, organisation, id)
        await trx.deleteFrom('organisation_alerts').where('id', '=', id).execute()
        await publish(trx, organisation, { event: 'alert_deleted', actor: session.account, alert })
      }),
  }
}
