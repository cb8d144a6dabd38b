/**
 * An account server of connections in memory, as devices see it: it keeps what they sign and compares and swaps, and believes them
 * everything. Whoever holds it can let calls fail before or after they did something.
 */
import type { Account, Door } from '../../src/api/port.ts'
import { timeAt } from '../../src/api/fields.ts'
import type { Connection } from '../../src/api/rest/connections.ts'
import { serverName } from '../../src/api/rest/names.ts'
import { encodeBase64url } from '../../src/crypto/base64url.ts'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { readEnvelope } from '../../src/crypto/envelope-form.ts'
import { newId } from '../../src/crypto/id.ts'
import { hashOf } from '../../src/crypto/jws.ts'
import { AppError } from '../../src/errors.ts'
import { T0 } from './bench.ts'
import { paged } from './paged.ts'

interface Roster {
  readonly id: string
  readonly name: string
  readonly entries: string[]
  readonly roles: Map<string, 'owner' | 'member'>
  readonly consent: Map<string, 'asked' | 'taken'>
  /** By device: the envelope of the current epoch. */
  envelopes: Map<string, string>
  epoch: number
  updated: number
}

const payloadOf = (jws: string) =>
  JSON.parse(Buffer.from(jws.split('.')[1] as string, 'base64url').toString()) as {
    op: string
    prev: string
    epoch: number
    actor: string
    member?: string
    role?: 'owner' | 'member'
    k_commit?: string
    device: string
  }
const hashed = (jws: string) => encodeBase64url(hashOf(jws))
const notFound = () => new AppError('not_found', 'There is no connection with this id.')
const cameFirst = () => new AppError('conflict', 'Another entry came first.')

export function memoryServer() {
  const receiptKey = publicKeys(newDeviceKeys()).sign
  const logs = new Map<string, string[]>()
  /** Whose each device is; a revoked one is nobody's. */
  const owners = new Map<string, string>()
  const sealKeys = new Map<string, string>()
  const profiles = new Map<string, string>()
  const rosters = new Map<string, Roster>()
  let updates = T0

  const logOf = (account: string) => logs.get(account) ?? []
  /** By device: signs that its account agrees to be taken in. */
  const consenting = new Map<
    string,
    (to: { connection: string; inviter: string; rosterHead: Uint8Array }) => Promise<string>
  >()

  /** An account that waits for an owner, with the consent of its first active device. */
  async function joinOf({ id: connection, entries }: Roster, account: string, inviter: string) {
    const to = { connection, inviter, rosterHead: hashOf(entries.at(-1)!) }
    const sign = consenting.get(devicesOf(account)[0]!)!
    return { connection, account, email: null, consent: await sign(to) }
  }

  const devicesOf = (account: string) =>
    [...owners].filter(([, owner]) => owner === account).map(([device]) => device)

  function rosterOf(id: string, account: string): Roster {
    const roster = rosters.get(id)
    if (roster === undefined || !roster.roles.has(account)) throw notFound()
    return roster
  }
  function touch(roster: Roster): void {
    updates += 1
    roster.updated = updates
  }
  const resource = ({ id, name, roles, epoch, updated }: Roster): Connection => ({
    id,
    name,
    kind: roles.size > 2 ? 'group' : 'direct',
    state: roles.size > 1 ? 'active' : 'pending',
    favorite: false,
    tag_ids: [],
    members: [...roles].map(([user_id, role]) => {
      return { id: user_id, user_id, ...serverName(user_id), role, state: 'active' }
    }),
    preset_id: null,
    replaces: null,
    replaced_by: null,
    epoch,
    secret_here: false,
    created_at: timeAt(T0),
    updated_at: timeAt(updated),
  })
  function store(roster: Roster, envelopes: readonly string[]): number {
    let stored = 0
    for (const envelope of envelopes) {
      const { recipient } = readEnvelope(envelope)
      if (!roster.roles.has(owners.get(recipient) ?? '') || roster.envelopes.has(recipient))
        continue
      roster.envelopes.set(recipient, envelope)
      stored += 1
    }
    return stored
  }
  function apply(roster: Roster, entry: string): void {
    const { op, member = '', role = 'member', actor, k_commit, epoch } = payloadOf(entry)
    if (op === 'add') {
      roster.roles.set(member, role)
      roster.consent.set(member, 'taken')
    }
    if (op === 'role') roster.roles.set(member, role)
    if (op === 'remove') roster.roles.delete(member)
    if (op === 'leave') {
      roster.roles.delete(actor)
      roster.consent.delete(actor)
    }
    if (k_commit !== undefined) roster.envelopes = new Map()
    roster.epoch = epoch
    roster.entries.push(entry)
  }

  /** Only what a device asks. */
  const as = (account: string, device: string): Account =>
    ({
      context: { read: async () => ({ user: { id: account }, organisations: [] }) },
      keyLogs: {
        read: async ({ account: of, from }: { account: string; from?: number }) => ({
          ...paged(logOf(of), { from }),
          seal_keys: devicesOf(of).flatMap((id) => sealKeys.get(id) ?? []),
          ...(profiles.has(of) ? { profile: profiles.get(of) } : {}),
        }),
        append: async ({
          body: { entry, seal_key },
        }: Parameters<Account['keyLogs']['append']>[0]) => {
          const log = logOf(account)
          const { op, prev, device: named } = payloadOf(entry)
          if (!log.includes(entry)) {
            if (prev !== hashed(log.at(-1)!)) throw cameFirst()
            log.push(entry)
            const gone = op === 'reset' ? devicesOf(account) : op === 'revoke' ? [named] : []
            for (const one of gone) owners.delete(one)
            if (op === 'add' || op === 'reset') owners.set(named, account)
            if (seal_key !== undefined) sealKeys.set(named, seal_key)
            for (const roster of rosters.values()) {
              for (const one of gone) roster.envelopes.delete(one)
              if (roster.roles.has(account)) touch(roster)
            }
          }
          return { seq: log.indexOf(entry), head: hashed(entry) }
        },
      },
      signedProfiles: {
        give: async ({ body }: { body: { profile: string } }) => {
          profiles.set(account, body.profile)
        },
      },
      connections: {
        list: async () => ({
          items: [...rosters.values()].filter(({ roles }) => roles.has(account)).map(resource),
          next_cursor: null,
        }),
        read: async ({ id }: { id: string }) => resource(rosterOf(id, account)),
        delete: async ({ id }: { id: string }) => {
          const { roles, entries } = rosterOf(id, account)
          if (payloadOf(entries.at(-1)!).op === 'end') return void roles.delete(account)
          if (roles.size > 1)
            throw new AppError('no_device', 'Only a device can sign that it leaves.')
          rosters.delete(id)
        },
      },
      members: {
        // Everybody says yes at once.
        add: async ({ id, body }: { id: string; body: { user_id: string } }) => {
          const roster = rosterOf(id, account)
          if (!roster.roles.has(body.user_id)) roster.consent.set(body.user_id, 'asked')
          return { id: newId('inv_', T0) }
        },
      },
      rosters: {
        open: async ({ body }: Parameters<Account['rosters']['open']>[0]) => {
          if (!rosters.has(body.connection)) {
            const roster: Roster = {
              id: body.connection,
              name: body.name,
              entries: [body.entry],
              roles: new Map([[account, 'owner']]),
              consent: new Map(),
              envelopes: new Map(),
              epoch: 1,
              updated: 0,
            }
            rosters.set(body.connection, roster)
            store(roster, body.envelopes)
            touch(roster)
          }
          return resource(rosterOf(body.connection, account))
        },
        read: async ({ connection, from }: { connection: string; from?: number }) => {
          const { entries } = rosterOf(connection, account)
          const named = new Set(
            entries.flatMap((entry) => {
              const { actor, member } = payloadOf(entry)
              return member === undefined ? [actor] : [actor, member]
            }),
          )
          const key_logs = [...named].map((of) => ({ account: of, seq: logOf(of).length - 1 }))
          return { ...paged(entries, { from }), key_logs }
        },
        append: async ({
          connection,
          body: { entry, envelopes },
        }: Parameters<Account['rosters']['append']>[0]) => {
          const known = rosters.get(connection)
          if (known?.entries.includes(entry) !== true) {
            const roster = rosterOf(connection, account)
            const { op, prev, member = '' } = payloadOf(entry)
            if (prev !== hashed(roster.entries.at(-1)!)) throw cameFirst()
            if (op === 'add' && !roster.consent.has(member))
              throw new AppError('invalid_state', 'Nobody approved that.')
            apply(roster, entry)
            store(roster, envelopes)
            touch(roster)
          }
          const entries = rosters.get(connection)?.entries ?? []
          return { seq: entries.length - 1, head: hashed(entries.at(-1)!) }
        },
      },
      envelopes: {
        read: async ({ connection }: { connection: string }) => {
          const own = rosterOf(connection, account).envelopes.get(device)
          return { envelopes: own === undefined ? [] : [own] }
        },
        add: async ({ connection, body }: Parameters<Account['envelopes']['add']>[0]) => {
          const roster = rosterOf(connection, account)
          const current = body.envelopes.filter((one) => readEnvelope(one).epoch === roster.epoch)
          const stored = store(roster, current)
          if (stored > 0) touch(roster)
          return { stored }
        },
        delete: async ({ connection }: { connection: string }) => {
          rosterOf(connection, account).envelopes.delete(device)
        },
      },
      duties: {
        read: async () => {
          const own = [...rosters.values()].filter(({ roles }) => roles.has(account))
          return {
            joins: await Promise.all(
              own
                .filter(({ roles }) => roles.get(account) === 'owner')
                .flatMap((roster) =>
                  [...roster.consent]
                    .filter(([one, state]) => state === 'asked' && !roster.roles.has(one))
                    .filter(([one]) => devicesOf(one).length > 0)
                    .map(([one]) => joinOf(roster, one, account)),
                ),
            ),
            unsealed: own.flatMap(({ id, roles, envelopes }) => {
              const all = [...roles.keys()].flatMap(devicesOf)
              const devices = all.filter((one) => !envelopes.has(one))
              return devices.length === 0 ? [] : [{ connection: id, devices }]
            }),
          }
        },
      },
      devices: { list: async () => ({ items: [], next_cursor: null }) },
      invitations: { list: async () => ({ received: [], sent: [] }) },
      trustCards: { list: async () => ({ items: [], next_cursor: null }) },
      guestCodes: { list: async () => ({ items: [], next_cursor: null }) },
      verifications: { push: async () => ({ accepted: 0 }) },
    }) as unknown as Account

  const door = {
    enrolment: {
      create: async ({
        body: { entry, seal_key },
      }: {
        body: { entry: string; seal_key: string }
      }) => {
        const { account, device } = payloadOf(entry) as unknown as Record<string, string>
        logs.set(account!, [entry])
        owners.set(device!, account!)
        sealKeys.set(device!, seal_key)
        return {
          account_id: account,
          device_id: device,
          approved: true,
          receipt_key: receiptKey,
          session: { session_id: 'ses', refresh_token: 'refresh' },
        }
      },
    },
  } as unknown as Door

  const putSealKey = (device: string, key: string) => sealKeys.set(device, key)

  /** A device of an account whose key log is put here by the test. */
  function addDevice(account: string, device: string, sealKey: string): void {
    owners.set(device, account)
    putSealKey(device, sealKey)
  }

  return { as, door, logs, rosters, consenting, putSealKey, addDevice }
}
