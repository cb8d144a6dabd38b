/**
 * Handlers for the own account.
 *
 * They serve its devices, preferences, profile, exports, active organisation and API tokens.
 */
import { pageOf, readCursor } from '../api/cursor.ts'
import type { Page } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import type { Profile } from '../api/rest/profiles.ts'
import { isId } from '../crypto/encoding/id.ts'
import { isWrong } from '../device/codes/clock.ts'
import { orStored } from '../device/copies/copies.ts'
import type { LocalDevice } from '../device/device.ts'
import { AppError } from '../errors.ts'
import { type HandlerContext, type Handlers, consoleSince, keeperOf, noDevice } from './context.ts'

/** How long after its code was exchanged a console may delete the account, in milliseconds. */
const FRESH_MS = 120_000

/**
 * Requires that the person was just at the command line, if a console sends the request.
 * @throws AppError `insufficient_user_authentication`
 * @see RFC 9470 section 3
 */
function requireFreshConsole(context: HandlerContext): void {
  const since = consoleSince(context)
  if (since === null || context.home.now() - since < FRESH_MS) return
  throw new AppError(
    'insufficient_user_authentication',
    'To delete the account here, run "countersignd open --full" again, and delete it within two minutes.',
    {
      headers: {
        'WWW-Authenticate': `DPoP error="insufficient_user_authentication", max_age="${FRESH_MS / 1000}"`,
      },
    },
  )
}

export const account: Handlers['account'] = {
  /**
   * Deletes the account. If the caller is a machine account, deletes that account at the server,
   * because this device belongs to another account.
   */
  delete: async (_, context) => {
    if (keeperOf(context) === null) return context.account.account.delete({})
    requireFreshConsole(context)
    const { signIn, tokens } = context.home
    await signIn.deleteAccount()
    tokens.forget()
  },
}

export const context: Handlers['context'] = {
  /**
   * Switches the active organisation after uploading pending data to the previous one.
   *
   * If the account server is unreachable, the organisation does not change.
   */
  activeOrg: async (input, asked) => {
    await keeperOf(asked)?.sync.handOver()
    return asked.account.context.activeOrg(input)
  },
}

export const devices: Handlers['devices'] = {
  /**
   * Deletes a device. A machine account's caller has no device that could sign the removal, so the
   * account server deletes what it can.
   */
  delete: async ({ id }, context) => {
    const keeper = keeperOf(context)
    if (keeper === null) return context.account.devices.delete({ id })
    const { revoke } = await import('../device/session/sign-out.ts')
    await revoke(keeper, context.account, id)
  },
}

export const exports: Handlers['exports'] = {
  /**
   * Creates an export. First uploads what only this device has: verifications, and stamps without a
   * receipt.
   */
  create: async (_, context) => {
    const keeper = keeperOf(context)
    if (keeper !== null) await keeper.sync.handOver()
    return context.account.exports.create({})
  },

  /**
   * Returns a link to an export. A link for one of this daemon's API tokens expires with the token.
   */
  download: async ({ id }, { account, caller, byMachine, home }) => {
    const token = caller?.token ?? null
    if (byMachine || token === null) return account.exports.download({ id })
    return home.tokenLinks.get(account, { id, token, expiry: home.tokens.expiryOf(token) })
  },
}

type Input = Parameters<Account['preferences']['update']>[0]

/**
 * Switches the public code on or off. The account server receives the secret before the code is
 * active, and this device stores the secret afterwards.
 */
async function switched(device: LocalDevice, account: Account, input: Input, on: boolean) {
  const { keepPublicCode, shareCode } = await import('../device/codes/public-code.ts')
  const secret = on ? await shareCode(account) : null
  const updated = await account.preferences.update(input)
  keepPublicCode(device, secret)
  return updated
}

export const preferences: Handlers['preferences'] = {
  update: async (input, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    const { public_code: on } = input.body
    // Without a device there is no secret, so the account server rejects the request.
    return keeper === null || on === undefined
      ? account.preferences.update(input)
      : switched(keeper, account, input, on)
  },
}

/**
 * Adds the signed name, and the current words if the clock is right. First asks the account server
 * whether the public code is on, because another device may have switched it.
 */
async function withCode(
  profile: Profile,
  device: LocalDevice | null,
  account: Account,
): Promise<Profile> {
  if (device === null) return profile
  const { followCode, isPublicCodeActive, publicWords } =
    await import('../device/codes/public-code.ts')
  const active = await orStored(followCode(device, account), () => isPublicCodeActive(device))
  const at = device.now()
  const speaks = active && !isWrong(device.freshness.clock(at))
  const signed = device.state.profiles.get(device.identity.account)
  return {
    ...profile,
    display_name: signed?.name ?? profile.display_name,
    public_code: speaks ? await publicWords(device, at) : null,
  }
}

export const profile: Handlers['profile'] = {
  read: async (_, { account, device }) => withCode(await account.profile.read({}), device, account),

  update: async (input, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    if (keeper === null) return account.profile.update(input)
    const { display_name: name, ...rest } = input.body
    // The account server updates the rest first: if the handle is taken, nothing must be signed.
    const updated = await account.profile.update({ body: rest })
    if (name === undefined) return withCode(updated, keeper, account)
    const { giveOwnName } = await import('../device/trust/own-name.ts')
    await giveOwnName(keeper, account, name)
    return withCode({ ...updated, display_name: name }, keeper, account)
  },
}

/**
 * Returns the requested page of `items`, which this device stores itself.
 *
 * The items must be newest first and have ids with `prefix`.
 */
export function pageIn<T extends { id: string }>(items: readonly T[], page: Page, prefix: string) {
  const before = readCursor(page.cursor, (id) => isId(prefix, id))
  return pageOf(before === null ? items : items.filter(({ id }) => id < before), page)
}

export const token: Handlers['token'] = {
  create: async ({ body }, { home, byMachine }) => {
    if (byMachine) throw noDevice()
    return home.tokens.mint(body)
  },
}

/**
 * Handlers for API tokens. A machine account's caller manages that account's tokens at the account
 * server and cannot see the daemon's tokens.
 */
export const apiTokens: Handlers['apiTokens'] = {
  list: async (page, { home, account, byMachine }) => {
    if (!byMachine) return pageIn(home.tokens.list(), page, 'tok_')
    const { items, ...rest } = await account.machineTokens.list(page)
    return { ...rest, items: items.map((item) => ({ ...item, bound: false })) }
  },
  // Only scope `full` may call this, so no token can have more rights than its creator.
  create: async (input, { home, account, byMachine }) =>
    byMachine ? account.machineTokens.create(input) : home.tokens.mint(input.body),
  delete: async (input, { home, account, byMachine }) => {
    if (byMachine) return account.machineTokens.delete(input)
    home.tokens.revoke(input.id)
    await home.tokenLinks.end(account, input.id)
  },
}
