/**
 * The rosters of an account server in memory.
 * It checks only the place of an entry, and can show two histories of one connection: devices on
 * the second branch read and continue that one.
 */
import { timeAt } from '../../src/api/fields.ts'
import type { Account } from '../../src/api/port.ts'
import type { Connection } from '../../src/api/rest/connections.ts'
import { serverName } from '../../src/api/rest/names.ts'
import { readEnvelope } from '../../src/crypto/envelope-form.ts'
import { newId } from '../../src/crypto/encoding/id.ts'
import { AppError } from '../../src/errors.ts'
import { T0 } from './bench.ts'
import { apply, type Branch, hashed, type Invited, payloadOf } from './memory-branches.ts'

type Fork = [one: string, other: string]

interface Kept {
  readonly id: string
  readonly name: string
  readonly replaces: string | null
  readonly fork: Fork | undefined
  branches: Branch[]
  /** The devices that are shown the second branch. */
  readonly second: Set<string>
  updated: number
}

type Opening = Parameters<Account['rosters']['open']>[0]['body']
type Appended = Parameters<Account['rosters']['append']>[0]['body']

const notFound = () => new AppError('not_found', 'There is no connection with this id.')
export const cameFirst = () => new AppError('conflict', 'Another entry came first.')

/** @param ownerOf the account of an active device */
export function memoryRosters(ownerOf: (device: string) => string | undefined) {
  const stored = new Map<string, Kept>()
  /** Every envelope that was ever stored for a device, and every consent given for an account. */
  const [envelopes, consents] = [new Map<string, string[]>(), new Map<string, string[]>()]
  let updates = T0
  let appended: (connection: string, entry: string) => void = () => undefined

  const note = (all: Map<string, string[]>, key: string, one: string) =>
    all.set(key, [...(all.get(key) ?? []), one])

  const branchFor = ({ branches, second }: Kept, device: string): Branch =>
    (second.has(device) ? branches[1] : undefined) ?? branches[0]!

  /** @throws AppError not_found */
  function find(id: string, account: string, device: string): Branch {
    const found = stored.get(id)
    const branch = found === undefined ? undefined : branchFor(found, device)
    if (branch?.roles.has(account) !== true) throw notFound()
    return branch
  }

  function touch(id: string): void {
    updates += 1
    const found = stored.get(id)
    if (found !== undefined) found.updated = updates
  }

  function store(id: string, branch: Branch, given: readonly string[]): number {
    let stored = 0
    for (const envelope of given) {
      const { recipient, epoch } = readEnvelope(envelope)
      const isWanted = branch.roles.has(ownerOf(recipient) ?? '') && epoch === branch.epoch
      if (!isWanted || branch.envelopes.has(recipient)) continue
      branch.envelopes.set(recipient, envelope)
      note(envelopes, `${id} ${recipient}`, envelope)
      stored += 1
    }
    if (stored > 0) touch(id)
    return stored
  }

  const inviteTo = (branch: Branch, inviter: string, account: string) => {
    const invited = { id: newId('inv_', T0), inviter, consent: null, isTaken: false }
    branch.invited.set(account, invited)
    return invited
  }

  function resource({ id, name, replaces, updated }: Kept, branch: Branch): Connection {
    const { roles, invited, epoch } = branch
    const waiting = [...invited.keys()].filter((one) => !roles.has(one))
    return {
      id,
      name,
      kind: roles.size > 2 ? 'group' : 'direct',
      state: roles.size > 1 ? 'active' : 'pending',
      favorite: false,
      tag_ids: [],
      members: [
        ...[...roles].map(([user_id, role]) => {
          return { id: user_id, user_id, ...serverName(user_id), role, state: 'active' as const }
        }),
        ...waiting.map((user_id) => {
          const named = { id: user_id, user_id, ...serverName(user_id) }
          return { ...named, role: 'member' as const, state: 'invited' as const }
        }),
      ],
      preset_id: null,
      replaces,
      replaced_by: null,
      suspended: null,
      epoch,
      secret_here: false,
      created_at: timeAt(T0),
      updated_at: timeAt(updated),
    }
  }

  const rows = {
    open(account: string, device: string, body: Opening): Connection {
      const { connection: id, name, entry, fork } = body
      const replaces = payloadOf(entry).replaces ?? null
      if (!stored.has(id)) {
        const first: Branch = {
          entries: [entry],
          roles: new Map([[account, 'owner']]),
          invited: new Map(),
          envelopes: new Map(),
          epoch: 1,
        }
        for (const one of body.invite ?? [])
          if ('user_id' in one) inviteTo(first, account, one.user_id)
        const second = new Set<string>()
        stored.set(id, { id, name, replaces, fork, branches: [first], second, updated: 0 })
        store(id, first, body.envelopes)
        touch(id)
      }
      return rows.read(id, account, device)
    },
    read: (id: string, account: string, device: string): Connection =>
      resource(stored.get(id)!, find(id, account, device)),
    list: (account: string, device: string): Connection[] =>
      [...stored.values()]
        .filter((one) => branchFor(one, device).roles.has(account))
        .map((one) => resource(one, branchFor(one, device))),
    /**
     * Returns the history that a device is shown.
     * @throws AppError not_found
     */
    find,
    forkOf: (id: string): Fork | undefined => stored.get(id)?.fork,
    append(of: { id: string; account: string; device: string }, body: Appended) {
      const { id, account, device } = of
      const all = stored.get(id)?.branches ?? []
      if (all.every(({ entries }) => !entries.includes(body.entry))) {
        const branch = find(id, account, device)
        const { op, prev, member = '', consent } = payloadOf(body.entry)
        if (prev !== hashed(branch.entries.at(-1)!)) throw cameFirst()
        if (op === 'add' && !branch.invited.has(member))
          throw new AppError('invalid_state', 'Nobody approved that.')
        if (consent !== undefined) note(consents, `${id} ${member}`, consent)
        apply(branch, body.entry)
        store(id, branch, body.envelopes)
        touch(id)
        appended(id, body.entry)
      }
      const { entries } = branchFor(stored.get(id)!, device)
      return { seq: entries.length - 1, head: hashed(entries.at(-1)!) }
    },
    addEnvelopes: (id: string, branch: Branch, given: readonly string[]): number =>
      store(id, branch, given),
    /** Deletes a connection for an account that left it after its end, or is alone in it. */
    delete(id: string, account: string, device: string): void {
      const branch = find(id, account, device)
      const isEnded = payloadOf(branch.entries.at(-1)!).op === 'end'
      if (!isEnded && branch.roles.size > 1)
        throw new AppError('no_device', 'Only a device can sign that it leaves.')
      branch.roles.delete(account)
      if (stored.get(id)!.branches.every(({ roles }) => roles.size === 0)) stored.delete(id)
    },
    invite: (id: string, branch: Branch, inviter: string, account: string): Invited => {
      touch(id)
      return inviteTo(branch, inviter, account)
    },
    invitation(id: string, device: string) {
      for (const one of stored.values())
        for (const [account, invited] of branchFor(one, device).invited)
          if (invited.id === id)
            return { id: one.id, branch: branchFor(one, device), account, invited }
      throw notFound()
    },
    /** Returns the invitations of an account to replacements that still lack its consent. */
    replacementsFor: (account: string, device: string) =>
      [...stored.values()].flatMap((one) => {
        const { entries, invited } = branchFor(one, device)
        const own = invited.get(account)
        if (one.replaces === null || own === undefined) return []
        if (own.isTaken || own.consent !== null) return []
        return [{ invitation: own.id, entry: entries[0]!, fork: one.fork ?? null }]
      }),
    /** Deletes the envelopes of removed devices and marks their connections as changed. */
    drop(account: string, devices: readonly string[]): void {
      for (const { id, branches } of stored.values())
        for (const { envelopes: sealed, roles } of branches) {
          for (const one of devices) sealed.delete(one)
          if (roles.has(account)) touch(id)
        }
    },
  }

  /** The lies of a dishonest server. */
  const lies = {
    /** From now on some devices are shown a separate history. */
    split(id: string, devices: readonly string[]): void {
      const one = stored.get(id)
      if (one === undefined || one.branches.length > 1 || devices.length === 0) return
      const [first] = one.branches
      one.branches.push({
        ...first!,
        entries: [...first!.entries],
        roles: new Map(first!.roles),
        invited: structuredClone(first!.invited),
        envelopes: new Map(first!.envelopes),
      })
      for (const device of devices) one.second.add(device)
      touch(id)
    },
    /** Shows a device the other history, until this is called again. */
    flip(id: string, device: string): void {
      const one = stored.get(id)
      if (one === undefined || one.branches.length < 2) return
      if (!one.second.delete(device)) one.second.add(device)
      touch(id)
    },
    /**
     * Shows all devices one history from now on: the first, or the second if there is one.
     * Of two histories that do not fork it is the longer one, since a server that keeps entries
     * back is not honest.
     */
    join(id: string, isSecond: boolean): void {
      const one = stored.get(id)
      if (one === undefined) return
      const [first, second = first] = one.branches as [Branch, Branch?]
      const [short, long] = [first, second].toSorted((a, b) => a.entries.length - b.entries.length)
      const isFork = short!.entries.some((entry, seq) => entry !== long!.entries[seq])
      const truth = isFork ? (isSecond ? second : first) : long!
      one.branches = [truth]
      one.second.clear()
      if (truth.roles.size === 0) stored.delete(id)
      touch(id)
    },
  }

  return {
    rows,
    lies,
    /** Returns the ids of all connections. */
    ids: () => [...stored.keys()],
    branches: (id: string): readonly Branch[] => stored.get(id)?.branches ?? [],
    /** Returns the history that the server uses; undefined for no connection. */
    get: (id: string): Branch | undefined => stored.get(id)?.branches[0],
    /** Returns all envelopes ever sealed to a device for a connection, the oldest first. */
    sealed: (id: string, device: string) => envelopes.get(`${id} ${device}`) ?? [],
    /**
     * Returns all consents by which an account was ever added to a connection, the oldest first.
     */
    consented: (id: string, account: string) => consents.get(`${id} ${account}`) ?? [],
    /** Calls a function with every entry that a device appends from now on. */
    onAppend: (call: typeof appended): void => {
      appended = call
    },
    /** Grows with every change. */
    updates: () => updates,
  }
}
