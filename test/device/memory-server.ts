/**
 * An account server in memory, as devices see it: the server of generated histories, beside the
 * real one of `test/world`. It stores what devices sign, compares and swaps, and checks nothing
 * else. It shows two histories of one connection to different devices and continues both, which
 * the real one cannot store.
 */
import type { Account, UnauthenticatedClient } from '../../src/api/port.ts'
import { serverName } from '../../src/api/rest/names.ts'
import { publicKeys } from '../../src/crypto/device-keys.ts'
import { entryHash } from '../../src/crypto/jose/jws.ts'
import { AppError } from '../../src/errors.ts'
import { newDeviceKeys } from '../crypto/keys.ts'
import { hashed, payloadOf } from './memory-branches.ts'
import { cameFirst, memoryRosters } from './memory-rosters.ts'
import { paged } from '../world/paged.ts'

/** Signs the consent of a device’s account to be added. */
type Consenting = (to: {
  connection: string
  inviter: string
  rosterHead: Uint8Array
}) => Promise<string>

export function memoryServer() {
  const receiptKey = publicKeys(newDeviceKeys()).sign
  const logs = new Map<string, string[]>()
  /** The account of each device; a revoked device has none. */
  const owners = new Map<string, string>()
  const sealKeys = new Map<string, string>()
  const profiles = new Map<string, string>()
  /** The accounts that each account follows. */
  const followed = new Map<string, Set<string>>()
  /** By device. */
  const consenting = new Map<string, Consenting>()
  const rosters = memoryRosters((device) => owners.get(device))
  const { rows } = rosters

  const logOf = (account: string) => logs.get(account) ?? []
  const devicesOf = (account: string) =>
    [...owners].filter(([, owner]) => owner === account).map(([device]) => device)

  /**
   * Returns the accounts that an owner may add. Each one consents at once, except to a
   * replacement.
   * For a replacement, a device or the user consents separately.
   */
  async function joinsFor(account: string, device: string) {
    const joins = []
    for (const { id, replaces } of rows.list(account, device)) {
      const { roles, invited, entries } = rows.find(id, account, device)
      if (roles.get(account) !== 'owner') continue
      for (const [one, { inviter, consent, isTaken }] of invited) {
        const [first] = devicesOf(one)
        if (isTaken || inviter !== account || roles.has(one) || first === undefined) continue
        if (consent === null && replaces !== null) continue
        const to = { connection: id, inviter, rosterHead: entryHash(entries.at(-1)!) }
        const given = consent ?? (await consenting.get(first)!(to))
        joins.push({ connection: id, account: one, email: null, consent: given })
      }
    }
    return joins
  }

  /** Only the calls that a device makes. */
  const as = (account: string, device: string): Account =>
    ({
      changes: {
        read: () =>
          Promise.reject(new AppError('no_such_route', 'An older server has no such route.')),
      },
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
            rows.drop(account, gone)
          }
          return { seq: log.indexOf(entry), head: hashed(entry) }
        },
      },
      followedKeyLogs: {
        list: async () => {
          const items = [...(followed.get(account) ?? [])].map((of) => {
            const [log, profile] = [logOf(of), profiles.get(of)]
            return {
              account: of,
              seq: log.length - 1,
              head: hashed(log.at(-1)!),
              profile: profile === undefined ? null : hashed(profile),
            }
          })
          return { items, next_cursor: null }
        },
      },
      signedProfiles: {
        give: async ({ body }: { body: { profile: string } }) => {
          profiles.set(account, body.profile)
        },
      },
      connections: {
        list: async () => ({ items: rows.list(account, device), next_cursor: null }),
        read: async ({ id }: { id: string }) => rows.read(id, account, device),
        delete: async ({ id }: { id: string }) => rows.delete(id, account, device),
      },
      members: {
        add: async ({ id, body }: { id: string; body: { user_id: string } }) => {
          const branch = rows.find(id, account, device)
          const { id: made } = branch.roles.has(body.user_id)
            ? { id: '' }
            : rows.invite(id, branch, account, body.user_id)
          return { id: made }
        },
      },
      consents: {
        wanted: async ({ invitation }: { invitation: string }) => {
          const { id, branch, invited } = rows.invitation(invitation, device)
          const roster_head = hashed(branch.entries.at(-1)!)
          return { connection: id, inviter: invited.inviter, roster_head }
        },
        give: async ({ body }: { body: { invitation: string; consent: string } }) => {
          const { id, invited } = rows.invitation(body.invitation, device)
          invited.consent = body.consent
          return { connection_id: id, from: { user_id: invited.inviter } }
        },
      },
      rosters: {
        open: async ({ body }: Parameters<Account['rosters']['open']>[0]) =>
          rows.open(account, device, body),
        read: async ({ connection, from }: { connection: string; from?: number }) => {
          const { entries } = rows.find(connection, account, device)
          const named = new Set(
            entries.flatMap((entry) => {
              const { actor, member } = payloadOf(entry)
              return member === undefined ? [actor] : [actor, member]
            }),
          )
          const key_logs = [...named].map((of) => ({ account: of, seq: logOf(of).length - 1 }))
          const fork = rows.forkOf(connection)
          return { ...paged(entries, { from }), key_logs, ...(fork === undefined ? {} : { fork }) }
        },
        append: async ({ connection: id, body }: Parameters<Account['rosters']['append']>[0]) =>
          rows.append({ id, account, device }, body),
      },
      envelopes: {
        read: async ({ connection }: { connection: string }) => {
          const own = rows.find(connection, account, device).envelopes.get(device)
          return { envelopes: own === undefined ? [] : [own] }
        },
        add: async ({ connection, body }: Parameters<Account['envelopes']['add']>[0]) => {
          const branch = rows.find(connection, account, device)
          return { stored: rows.addEnvelopes(connection, branch, body.envelopes) }
        },
        delete: async ({ connection }: { connection: string }) => {
          rows.find(connection, account, device).envelopes.delete(device)
        },
      },
      duties: {
        read: async () => ({
          joins: await joinsFor(account, device),
          unsealed: rows.list(account, device).flatMap(({ id }) => {
            const { roles, envelopes } = rows.find(id, account, device)
            const all = [...roles.keys()].flatMap(devicesOf)
            const devices = all.filter((one) => !envelopes.has(one))
            return devices.length === 0 ? [] : [{ connection: id, devices }]
          }),
          replacements: rows.replacementsFor(account, device),
        }),
      },
      devices: { list: async () => ({ items: [], next_cursor: null }) },
      invitations: { list: async () => ({ received: [], sent: [] }) },
      trustCards: {
        list: async () => {
          const items = [...(followed.get(account) ?? [])].map((user_id) => {
            return { user_id, ...serverName(user_id), key_status: 'unchanged' }
          })
          return { items, next_cursor: null }
        },
      },
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
  } as unknown as UnauthenticatedClient

  const putSealKey = (device: string, key: string) => sealKeys.set(device, key)

  /** Adds a device of an account; the test puts its key log here. */
  function addDevice(account: string, device: string, sealKey: string): void {
    owners.set(device, account)
    putSealKey(device, sealKey)
  }

  const follow = (account: string, other: string) =>
    followed.set(account, new Set([...(followed.get(account) ?? []), other]))

  return { as, door, logs, rosters, consenting, putSealKey, addDevice, follow }
}
