import { invalid } from '../api/input.ts'
import type { Account } from '../api/port.ts'
import type { Connection } from '../api/rest/connections.ts'
import { type ContactWords, MOST_OPEN } from '../api/rest/first-contacts.ts'
import { ID_PREFIX, isId } from '../crypto/encoding/id.ts'
import { dropFormerKey } from '../device/codes/former-keys.ts'
import { wordsForListener } from '../device/codes/words-for-listener.ts'
import { dismiss, dismissed, isUnsignable } from '../device/connections/ignored-connections.ts'
import type { LocalDevice } from '../device/device.ts'
import { dropDeparted } from '../device/logs/deleted-members.ts'
import { dropHoldUps } from '../device/logs/hold-ups.ts'
import { AppError } from '../errors.ts'
import { hasEpoch } from '../state/connections.ts'
import { derived } from '../state/derived.ts'
import type { State } from '../state/state.ts'
import { type Handlers, keeperOf } from './context.ts'
import { membersNamer, namedInvitation } from './named.ts'

/** Returns the connection that replaces each forked one, by the forked connection's id. */
const replacedBy = derived(({ replacements }: State) => replacements.replaced())

/**
 * Adds this device's data to connections.
 *
 * The data are the members' names, whether the device has the secret, why no words verify, and
 * which connection replaces a forked one.
 */
function allDecorated(
  connections: readonly Connection[],
  device: LocalDevice | null,
): Connection[] {
  if (device === null)
    return connections.map((one) => ({
      ...one,
      secret_here: false,
      suspended: null,
      replaced_by: null,
    }))
  const named = membersNamer(device)
  const replaced = replacedBy(device.state)
  const standings = device.state.connections.standings(connections.map(({ id }) => id))
  return connections.map((connection) => {
    const standing = standings.get(connection.id) ?? null
    return {
      ...connection,
      members: named(connection.members),
      secret_here: device.vault.has(connection.id) && hasEpoch(standing),
      suspended: standing?.hold ?? null,
      replaced_by: replaced.get(connection.id) ?? null,
    }
  })
}

/** Adds this device's data to one connection. */
export const decorated = (connection: Connection, device: LocalDevice | null): Connection =>
  allDecorated([connection], device)[0]!

/**
 * Stores the name of a connection, which verifications show. Keeps the row's `updated_at`, so that
 * the next sync fetches the other changes.
 */
function remember(
  { id, name }: Connection,
  { state, codes, sync, requireSession }: LocalDevice,
): void {
  requireSession()
  sync.changed(id)
  const row = state.connections.get(id)
  if (row === null) return
  const renamed = { ...row, name }
  state.connections.put(renamed)
  codes.putConnection(renamed)
}

/**
 * Deletes a connection from this device. If the connection still has other members, keeps its
 * roster, so that the account server cannot present an older one.
 */
function forget(
  id: string,
  how: 'left' | 'ended',
  { state, codes, sync, vault }: LocalDevice,
): void {
  sync.changed(id)
  codes.remove(id)
  state.transaction(() => {
    vault.delete(id)
    dropFormerKey({ state, vault }, id)
    state.connections.delete(id)
    state.invites.clear(id)
    dropDeparted(state, id)
    dropHoldUps(state, id)
    if (how === 'ended') state.logs.delete('roster', id)
  })
}

const isNotFound = (error: unknown) => error instanceof AppError && error.code === 'not_found'

/** Checks whether this account no longer has the connection at the account server. */
async function isGone(id: string, account: Account): Promise<boolean> {
  try {
    await account.connections.read({ id })
    return false
  } catch (error) {
    if (isNotFound(error)) return true
    throw error
  }
}

/**
 * Leaves or ends a connection as `leaveOrEnd` does, and deletes it from this device.
 *
 * If nothing can be signed, only dismisses and deletes the connection here. Also succeeds if an
 * earlier request ended it and the response was lost.
 */
export async function leaveConnection(
  id: string,
  account: Account,
  device: LocalDevice,
  asLastOwner?: 'stay' | 'end',
): Promise<void> {
  const { leaveOrEnd } = await import('../device/connections/members.ts')
  try {
    forget(id, await leaveOrEnd(device, account, id, asLastOwner), device)
  } catch (error) {
    // The account server may have carried out an earlier request although its response was lost.
    const isDone =
      isNotFound(error) && device.state.connections.get(id) !== null && (await isGone(id, account))
    if (!isDone && !isUnsignable(error)) throw error
    if (!isDone) dismiss(device.state, id)
    forget(id, 'left', device)
  }
}

/**
 * Returns the words that all members can check.
 * @throws AppError `validation_failed` if the request names a purpose or a listener
 */
function wordsForAll(
  { codes }: LocalDevice,
  id: string,
  meant: { readonly purpose: string | undefined; readonly listener: string | undefined },
  at: number,
) {
  if (meant.purpose !== undefined || meant.listener !== undefined)
    throw invalid('query', [
      {
        path: 'challenge',
        message:
          'A purpose or a listener needs a challenge. Also give the challenge word that the listener said.',
      },
    ])
  return codes.toSay(id, at)
}

/**
 * Requires that a request for words invites at least 1 and at most `MOST_OPEN` people.
 * @throws AppError validation_failed
 */
function requireWordsFor(invite: readonly unknown[]): void {
  if (invite.length > 0 && invite.length <= MOST_OPEN) return
  const message = `Words are only for invited people. A request for words must invite 1 to ${MOST_OPEN} people.`
  throw invalid('body', [{ path: 'words', message }])
}

/** Creates four words for each invitation to a connection that was just created. */
async function wordsFor(device: LocalDevice, account: Account, connection: string) {
  const { makeWords } = await import('../device/first-contacts/four-words.ts')
  const { sent } = await account.invitations.list({ state: 'pending' })
  const made: ContactWords[] = []
  for (const invitation of sent)
    if (invitation.connection_id === connection)
      made.push(await makeWords(device, account, invitation))
  return made
}

export const connections: Handlers['connections'] = {
  list: async (page, { account, device }) => {
    const { items, next_cursor } = await account.connections.list(page)
    const gone = device === null ? new Set<string>() : dismissed(device.state)
    const here = items.filter(({ id }) => !gone.has(id))
    return { items: allDecorated(here, device), next_cursor }
  },

  create: async ({ body }, { home, local, act }) => {
    const { openConnection } = await import('../device/connections/connections.ts')
    // The words are not part of the idempotent operation. Envelopes differ at each request, but the
    // account server recognises a repeated roster entry.
    const { words: asked, ...wanted } = body
    if (asked) requireWordsFor(wanted.invite)
    const account = home.deviceSession.account()
    const made = await openConnection(local, account, wanted, act)
    if (wanted.invite.length > 0) local.syncSoon()
    const created = decorated(made, local)
    return asked ? { ...created, words: await wordsFor(local, account, made.id) } : created
  },

  read: async ({ id }, { account, device }) => {
    if (device !== null && dismissed(device.state).has(id))
      throw new AppError('not_found', 'There is no such connection.')
    return decorated(await account.connections.read({ id }), device)
  },

  update: async (input, context) => {
    const keeper = keeperOf(context)
    const updated = await context.account.connections.update(input)
    if (keeper !== null) remember(updated, keeper)
    return decorated(updated, keeper)
  },

  delete: async ({ id }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) return context.account.connections.delete({ id })
    return leaveConnection(id, context.account, keeper, 'end')
  },

  code: async ({ id, challenge, purpose, listener }, { account, local }) => {
    const at = local.now()
    local.refreshForOwnWords()
    const code =
      challenge === undefined
        ? wordsForAll(local, id, { purpose, listener }, at)
        : wordsForListener(local, id, { challenge, purpose, listener }, at)
    if (code !== null) {
      local.requireClock(at)
      return code
    }
    const { noWords } = await import('../device/connections/no-words.ts')
    throw await noWords(local, account, id)
  },

  favorite: async (input, context) => {
    const keeper = keeperOf(context)
    const updated = await context.account.connections.favorite(input)
    if (keeper !== null) remember(updated, keeper)
    return decorated(updated, keeper)
  },

  // The requests are not part of the idempotent operation. If another entry comes first, the device
  // sends a second entry, which is another request.
  rotate: async ({ id }, { home: { deviceSession }, local }) => {
    const { rotateNow } = await import('../device/connections/members.ts')
    return decorated(await rotateNow(local, deviceSession.account(), id), local)
  },
}

export const members: Handlers['members'] = {
  add: async ({ id, body }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) return context.account.members.add({ id, body })
    const { inviteMembers } = await import('../device/connections/invites.ts')
    const made = await inviteMembers(keeper, context.account, id, body)
    keeper.syncSoon()
    return namedInvitation(made, keeper, context.account)
  },

  /**
   * Removes a member. For an actual member, the device signs the removal in the roster. For an
   * invited person, the account server's deletion is enough.
   */
  remove: async ({ id, mid }, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    if (keeper === null) return account.members.remove({ id, mid })
    if (mid === keeper.identity.account) return leaveConnection(id, account, keeper)
    if (isId(ID_PREFIX.account, mid)) {
      const { remove } = await import('../device/connections/members.ts')
      try {
        return await remove(keeper, account, id, mid)
      } catch (error) {
        if (!(error instanceof AppError && error.code === 'not_found')) throw error
      }
    }
    const { uninvite } = await import('../device/connections/invites.ts')
    await uninvite(keeper, account, { id, mid })
  },

  role: async ({ id, mid, body }, { home: { deviceSession }, local }) => {
    const { setRole } = await import('../device/connections/members.ts')
    const changed = { member: mid, role: body.role }
    return decorated(await setRole(local, deviceSession.account(), id, changed), local)
  },
}

export const tags: Handlers['tags'] = {
  assign: async (input, context) => {
    const keeper = keeperOf(context)
    const tagged = await context.account.tags.assign(input)
    return decorated(tagged, keeper)
  },
}
