/**
 * Trust cards of followed accounts. The account server stores which accounts are followed. This
 * device verifies the accounts' keys and stores the accepted names.
 */
import { setImmediate } from 'node:timers/promises'
import { every } from '../api/cursor.ts'
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import type { TrustCard } from '../api/rest/trust-cards.ts'
import { isId } from '../crypto/encoding/id.ts'
import { orStored } from '../device/copies/copies.ts'
import type { LocalDevice } from '../device/device.ts'
import { dismissRecovery, requireConfirmable, unpin, verifiedHere } from '../device/trust/trust.ts'
import { nameOf, ownNameOf } from '../device/names.ts'
import { invalid } from '../api/input.ts'
import { AppError } from '../errors.ts'
import { keyStatusOf, type TrustRow } from '../state/trust.ts'
import { type Handlers, keeperOf } from './context.ts'
import { namingOf } from './named.ts'
import { historyOf } from './trust-history.ts'

const MONTH_MS = 30 * 24 * 3600 * 1000

/** Imports the elliptic curve code only when there are keys to verify. */
const keys = () => import('../device/trust/trust-keys.ts')

/** Returns the later of two times. Either may be null. */
const later = (a: string | null, b: string | null) => ((a ?? '') > (b ?? '') ? a : b)

/** Adds this device's data to a card: the name, the state of the keys, and the safety number. */
async function decorated(device: LocalDevice, card: TrustCard, row: TrustRow): Promise<TrustCard> {
  const { state, identity } = device
  const { user_id: id } = card
  device.requireSession()
  state.names.pin(id, card.display_name)
  const { numberWith } = await keys()
  return {
    ...card,
    ...nameOf(namingOf(device), id, card.display_name),
    ...ownNameOf(state, id, card.display_name),
    key_status: keyStatusOf(row),
    recovered_at: row.recovered_at === null ? null : timeAt(row.recovered_at),
    recovery_key_unused: row.key_unused,
    safety_number: numberWith(state, identity.account, id),
    last_verified_at: later(card.last_verified_at, verifiedHere(state).get(id) ?? null),
  }
}

/**
 * Requires that a card belongs to the account with this id.
 * @throws AppError backend_error if it belongs to another account
 */
function requireOf({ user_id }: TrustCard, id: string): void {
  if (user_id !== id)
    throw new AppError(
      'backend_error',
      'The account server answered with the card of another account. Nothing was changed here. The server may be dishonest.',
    )
}

/**
 * Fetches the key logs from the account server and returns the card's row. Also fetches the own key
 * log, because the safety number covers both accounts' keys.
 */
async function fresh(device: LocalDevice, account: Account, id: string): Promise<TrustRow> {
  const { examine } = await keys()
  await refreshOwn(device, account)
  return examine(device, account, id)
}

/** Returns the row of a card that the account server listed, brought up to date if it answers. */
async function rowOf(device: LocalDevice, account: Account, card: TrustCard): Promise<TrustRow> {
  const { freshRow } = await keys()
  return orStored(freshRow(device, account, card), () => device.state.trust.get(card.user_id))
}

/** Suspends or resumes connections after the user has reviewed an account's keys. */
async function rejudge(device: LocalDevice, id: string): Promise<void> {
  const { judgeHolds } = await import('../device/logs/connection-record.ts')
  judgeHolds(device, id)
}

/**
 * Refreshes the own key log. If that fails, uses the cached one, and the next sync reports the
 * error.
 */
async function refreshOwn(device: LocalDevice, account: Account) {
  const { fetchKeyLog, rememberKeyLog } = await import('../device/logs/key-log.ts')
  try {
    const log = await fetchKeyLog(device.state, account, device.identity.account)
    device.requireSession()
    rememberKeyLog(device, log)
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'backend_error')) throw error
  }
}

export const trustCards: Handlers['trustCards'] = {
  list: async (page, { account, device }) => {
    const { items, next_cursor } = await account.trustCards.list(page)
    if (device === null) return { items, next_cursor }
    const cards: TrustCard[] = []
    for (const card of items) {
      device.state.names.pin(card.user_id, card.display_name)
      const row = await rowOf(device, account, card)
      cards.push(await decorated(device, card, row))
      // A safety number takes about 10 ms to compute, so other requests get a turn in between.
      await setImmediate()
    }
    return { items: cards, next_cursor }
  },

  create: async (input, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    const card = await account.trustCards.create(input)
    if (keeper === null) return card
    keeper.requireSession()
    if ('user_id' in input.body) requireOf(card, input.body.user_id)
    keeper.state.names.pin(card.user_id, card.display_name)
    // If the user reviewed the account's keys on this device before, those reviewed keys are used.
    const row = await fresh(keeper, account, card.user_id)
    await rejudge(keeper, card.user_id)
    return decorated(keeper, card, row)
  },

  update: async (input, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    const { id } = input
    if (keeper === null || !isId('acc_', id)) return account.trustCards.update(input)
    // The name and the compared safety number are not sent to the account server.
    const { name, safety_number, ...body } = input.body
    requirePair(body.confirmed, safety_number)
    const row =
      safety_number === undefined ? null : await toConfirm(keeper, account, id, safety_number)
    const card = await account.trustCards.update({ id, body })
    keeper.requireSession()
    requireOf(card, id)
    if (row !== null) requireSame(keeper, row)
    // Dismissed before the keys are fetched again, because the fetch may find another recovery.
    if (body.recovery_seen === true) dismissRecovery(keeper, id)
    if (name !== undefined) keeper.state.names.set(id, 'given', name)
    if (row === null) return decorated(keeper, card, await fresh(keeper, account, id))
    const { confirmKeys } = await import('../device/trust/confirmed-keys.ts')
    return decorated(keeper, card, await confirmKeys(keeper, account, row))
  },

  delete: async ({ id }, context) => {
    const keeper = keeperOf(context)
    try {
      await context.account.trustCards.delete({ id })
    } catch (error) {
      const isGone = error instanceof AppError && error.code === 'not_found'
      // The account was unfollowed on another device, but its row is still stored on this device.
      if (!isGone || (keeper?.state.trust.get(id) ?? null) === null) throw error
    }
    if (keeper === null) return
    unpin(keeper, id)
    await rejudge(keeper, id)
  },

  history: async (input, { account, device }) =>
    device === null ? account.trustCards.history(input) : historyOf(device, account, input),
}

/**
 * Requires that `confirmed` and `safety_number` are given together.
 * @throws AppError validation_failed
 */
function requirePair(confirmed: true | undefined, number: string | undefined): void {
  if ((confirmed === undefined) === (number === undefined)) return
  const [path, message] =
    number === undefined
      ? ['safety_number', 'Give the safety number that you compared, as shown in the trust card.']
      : ['confirmed', 'Give "confirmed": true with the safety number that you compared.']
  throw invalid('body', [{ path, message }])
}

const otherNumber = () =>
  new AppError(
    'conflict',
    'This is not the current safety number: keys have changed, or a digit differs. Compare the number that the trust card shows now, then confirm that one.',
  )

/**
 * Requires that no sync found other keys while the account server processed the request.
 * @throws AppError conflict
 */
function requireSame({ state }: LocalDevice, { account, newest }: TrustRow): void {
  const now = state.trust.get(account)
  if (now !== null && (now.newest !== newest || now.refused !== null)) throw otherNumber()
}

/**
 * Fetches the keys that the user confirms.
 * @param number the safety number that the user compared
 * @throws AppError conflict if the current keys have another number, and as `requireConfirmable`
 *   does
 */
async function toConfirm(
  device: LocalDevice,
  account: Account,
  id: string,
  number: string,
): Promise<TrustRow> {
  // The account server checks that the account is followed before this device stores anything.
  if (device.state.trust.get(id) === null) await account.trustCards.update({ id, body: {} })
  const row = await fresh(device, account, id)
  requireConfirmable(row)
  const { numberWith } = await keys()
  if (numberWith(device.state, device.identity.account, id) !== number) throw otherNumber()
  return row
}

export const trust: Handlers['trust'] = {
  metrics: async (_, { account, device }) => {
    const theirs = await account.trust.metrics({})
    if (device === null) return theirs
    const { state, now } = device
    const since = new Date(now() - MONTH_MS).toISOString()
    const { changesSince } = await import('../device/logs/trust-history.ts')
    let [confirmed, changed] = [0, 0]
    for (const card of await every((query) => account.trustCards.list(query))) {
      const row = await rowOf(device, account, card)
      if (keyStatusOf(row) === 'confirmed') confirmed++
      if (row.newest > 1) changed += changesSince(state, card.user_id, since)
    }
    const here = state.verifications.unpushed(-1).filter(({ at }) => at >= since)
    return {
      ...theirs,
      confirmed,
      keys_changed_30d: changed,
      verifications_30d: theirs.verifications_30d + here.length,
      inconclusive_30d:
        theirs.inconclusive_30d + here.filter(({ outcome }) => outcome === 'inconclusive').length,
    }
  },
}
