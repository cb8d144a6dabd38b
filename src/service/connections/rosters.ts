/**
 * Rosters, and the envelopes that are sent with roster entries. The server checks that each entry
 * is valid and signed by the device that sends it, and that each envelope is for a device of a
 * member. It cannot decrypt envelopes. Members verify everything again.
 */
import type { Kysely, Transaction } from 'kysely'
import type { Service } from '../../api/port.ts'
import { parseJws } from '../../crypto/jose/jws.ts'
import {
  type Roster,
  type RosterEntry,
  accountsInRoster,
  readRosterEntry,
  verifyRoster,
} from '../../crypto/logs/roster.ts'
import { requireThat } from '../../crypto/refusal.ts'
import { AppError } from '../../errors.ts'
import { CONNECTION_PREFIX, requireMember } from './connection-rows.ts'
import { readConnection } from './connections.ts'
import { departedLengths, noteNamed } from './deleted-members.ts'
import { requireApproved, holdApproved } from '../accounts/device-rows.ts'
import { type Addressed, addressed, type Sender, storeEnvelopes } from './envelopes.ts'
import { requireId, verified } from '../db/faults.ts'
import { hasBegun } from './first-contacts.ts'
import type { ServiceContext } from '../context.ts'
import { invite } from './members.ts'
import { profilesOf, readKeyLog } from '../accounts/key-log-rows.ts'
import { isLast, rosterPage } from '../db/log-pages.ts'
import { type Fork, carryOver, forkOf, noteReplaces } from './replacements.ts'
import { inviterIn, presetFor, tagByPreset } from './presets.ts'
import { appendRosterEntry, requireSealed, requireSignedBy } from './roster-entries.ts'
import { requireShort, rosterEntries } from './roster-rows.ts'
import type { Schema } from '../db/schema.ts'
import { markChanged } from '../db/sync-marks.ts'
import { storedKeyLog } from '../accounts/stored-logs.ts'

type Body = Parameters<Service['rosters']['open']>[0]['body']

/**
 * Checks the form of a fork that is sent when a replacing connection is opened.
 * @throws Refusal for malformed entries; `superfluous_member` if the connection replaces nothing;
 *   `wrong_connection` for entries of another roster; `bad_value` unless they are two different
 *   entries at the same position
 */
function requireFork({ replaces }: Roster, fork: Fork | undefined): void {
  if (fork === undefined) return
  requireThat(
    replaces !== null,
    'superfluous_member',
    'there is a fork, but the entry replaces nothing',
  )
  const [one, other] = fork.map((jws) => readRosterEntry(jws)) as [RosterEntry, RosterEntry]
  const isTheirs = one.connection === replaces && other.connection === replaces
  requireThat(isTheirs, 'wrong_connection', 'the fork belongs to another connection')
  const isFork = one.seq === other.seq && one.prev === other.prev && fork[0] !== fork[1]
  requireThat(isFork, 'bad_value', 'the fork must be two different entries at the same place')
}

export const rosters = (ground: ServiceContext): Service['rosters'] => {
  const { db, events, now } = ground

  /** Stores the verified connection and sends its invitations. */
  async function store(
    trx: Transaction<Schema>,
    { account, device }: Sender,
    body: Body,
    of: { roster: Roster; envelopes: readonly Addressed[] },
  ): Promise<void> {
    const { connection, name, entry, invite: invitees, preset_id } = body
    const { open_link_request = null } = body
    const { roster, envelopes } = of
    const named = { connection_id: connection }
    if (open_link_request !== null)
      await events.publish(trx, {
        type: 'open_link.approved',
        account,
        request: open_link_request,
        connection,
        invite: invitees,
        at: now(),
      })
    const preset = await presetFor(trx, account, preset_id)
    await trx
      .insertInto('memberships')
      .values({
        ...named,
        account_id: account,
        role: 'owner',
        name,
        favorite: preset?.favorite ?? 0,
        preset_id: preset?.id ?? null,
        updated_at: now(),
      })
      .execute()
    await tagByPreset(trx, { account, connection })
    await trx
      .insertInto('roster_entries')
      .values({ ...named, seq: 0, entry })
      .execute()
    await noteReplaces(trx, roster, body.fork)
    await carryOver(trx, roster, account)
    await noteNamed(trx, connection, account)
    await storeEnvelopes(trx, { roster, sender: device }, envelopes)
    const inviter = await inviterIn(trx, account, connection)
    for (const invitee of invitees) await invite(trx, ground, inviter, invitee)
    markChanged(trx, ['connections', 'duties'], { accounts: [account] })
    if (open_link_request !== null)
      await events.publish(trx, {
        type: 'open_link.answered',
        account,
        request: open_link_request,
        at: now(),
      })
  }

  return {
    open: async ({ body }, session) => {
      const { account } = session
      const sender = { account, device: await requireApproved(db, session) }
      const { entries } = await readKeyLog(db, account)
      const keyLogs = new Map([[account, await storedKeyLog(account, entries)]])
      const roster = verified('entry', () => {
        const opened = verifyRoster(body.connection, [body.entry], keyLogs)
        const { payload } = parseJws(body.entry, 'roster+jws')
        requireShort(body.entry, payload)
        requireSignedBy(payload, sender, keyLogs)
        return opened
      })
      const envelopes = verified('envelopes', () =>
        addressed(body.envelopes, { sender, roster, keyLogs, newest: roster.head }),
      )
      requireSealed(sender, envelopes)
      verified('fork', () => requireFork(roster, body.fork))
      await events.transaction(async (trx) => {
        await holdApproved(trx, session)
        const made = await trx
          .insertInto('connections')
          .values({ id: body.connection, epoch: roster.epoch, created_at: now(), ended_at: null })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst()
        if (made.numInsertedOrUpdatedRows !== 1n) {
          await requireSame(trx, body)
          return
        }
        await store(trx, sender, body, { roster, envelopes })
        const { connection } = body
        await events.publish(trx, {
          type: 'connection.created',
          by: session,
          connection,
          at: now(),
        })
      })
      return readConnection(ground, account, body.connection)
    },

    read: async ({ connection, from = 0 }, { account }) => {
      requireId(CONNECTION_PREFIX, connection, 'connection')
      // The invited account of an open first contact must read the roster before it is a member.
      if (!(await hasBegun(db, { account, connection, at: now() })))
        await requireMember(db, account, connection)
      const page = await rosterPage(db, ground.logPages, { connection, from })
      if (!isLast(page, from)) return { ...page, key_logs: [] }
      const accounts = accountsInRoster(await rosterEntries(db, connection))
      const departed = await departedLengths(db, connection, accounts)
      const key_logs = [...(await lengthsOf(db, accounts)), ...departed]
      const fork = await forkOf(db, connection)
      return { ...page, key_logs, ...(fork === null ? {} : { fork }) }
    },

    append: appendRosterEntry(ground),
  }
}

/** Returns the lengths of key logs, as the seq of the newest entry, and the signed profiles. */
async function lengthsOf(db: Kysely<Schema>, accounts: readonly string[]) {
  const rows = await db
    .selectFrom('key_log_entries')
    .select(({ fn }) => ['account_id', fn.max('seq').as('seq')])
    .where('account_id', 'in', accounts)
    .groupBy('account_id')
    .orderBy('account_id')
    .execute()
  const profiles = await profilesOf(db, accounts)
  return rows.map(({ account_id: account, seq }) => {
    const profile = profiles.get(account)
    return { account, seq, ...(profile === undefined ? {} : { profile }) }
  })
}

/**
 * Checks that the connection with this id was opened by the same entry. That is so if a device lost
 * the response and sent the request again.
 * @throws AppError `conflict` for another entry
 */
async function requireSame(trx: Transaction<Schema>, { connection, entry }: Body) {
  const first = await trx
    .selectFrom('roster_entries')
    .select('entry')
    .where('connection_id', '=', connection)
    .where('seq', '=', 0)
    .executeTakeFirst()
  // The entry contains its account's id and signature, so an equal entry is from the same account.
  if (first?.entry !== entry)
    throw new AppError(
      'conflict',
      'This connection was opened by another entry. Create a new connection.',
    )
}
