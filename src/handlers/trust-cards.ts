/** Trust cards: the account keeps whom it follows, and this device judges their keys and knows them by the name it accepted. */
import { setImmediate } from 'node:timers/promises'
import { every } from '../api/cursor.ts'
import { timeAt } from '../api/fields.ts'
import type { Account } from '../api/port.ts'
import type { TrustCard } from '../api/rest/trust-cards.ts'
import { isId } from '../crypto/encoding/id.ts'
import type { Device } from '../device/device.ts'
import { dismissRecovery, requireConfirmable, unpin, verifiedHere } from '../device/trust/trust.ts'
import { keyStatusOf } from '../device/key-status.ts'
import { invalid } from '../api/input.ts'
import { AppError } from '../errors.ts'
import type { TrustRow } from '../state/trust.ts'
import { nameOf, ownNameOf } from '../device/names.ts'
import { type Handlers, keeperOf } from './context.ts'
import { namingOf } from './named.ts'
import { historyOf } from './trust-history.ts'

const MONTH_MS = 30 * 24 * 3600 * 1000

/** The curves are loaded when there is somebody whose keys are to be judged. */
const keys = () => import('../device/trust/trust-keys.ts')

/** The later of two times, of which each may be missing. */
const later = (a: string | null, b: string | null) => ((a ?? '') > (b ?? '') ? a : b)

/** Add what this device knows: the name, what it thinks of the keys, and the safety number. */
async function decorated(device: Device, card: TrustCard, row: TrustRow): Promise<TrustCard> {
  const { state, identity } = device
  const { user_id: id } = card
  device.demandSeat()
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

/** Throws AppError backend_error for the card of somebody else. */
function demandOf({ user_id }: TrustCard, id: string): void {
  if (user_id !== id)
    throw new AppError(
      'backend_error',
      'The account server answered with the card of somebody else, and nothing was changed here. The server may be dishonest.',
    )
}

/** The card as it is now, by key logs as the account server shows them now: the own one is half of the safety number. */
async function fresh(device: Device, account: Account, id: string): Promise<TrustRow> {
  const { examine } = await keys()
  await refreshOwn(device, account)
  return examine(device, account, id)
}

/** What the person thinks of somebody's keys has changed, and so what they hold back. */
async function rejudge(device: Device, id: string): Promise<void> {
  const { judgeHolds } = await import('../device/logs/connection-record.ts')
  judgeHolds(device, id)
}

/** What is wrong with the own key log a sync tells; here this device goes by the one it knows. */
async function refreshOwn(device: Device, account: Account) {
  const { fetchKeyLog, rememberKeyLog } = await import('../device/logs/key-log.ts')
  try {
    const log = await fetchKeyLog(device.state, account, device.identity.account)
    device.demandSeat()
    rememberKeyLog(device, log)
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'backend_error')) throw error
  }
}

export const trustCards: Handlers['trustCards'] = {
  list: async (page, { account, device }) => {
    const { items, next_cursor } = await account.trustCards.list(page)
    if (device === null) return { items, next_cursor }
    const { look } = await keys()
    const cards: TrustCard[] = []
    for (const card of items) {
      const row = await look(device, account, card)
      cards.push(await decorated(device, card, row))
      // A safety number takes some ten milliseconds, in which others wait.
      await setImmediate()
    }
    return { items: cards, next_cursor }
  },

  create: async (input, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    const card = await account.trustCards.create(input)
    if (keeper === null) return card
    keeper.demandSeat()
    if ('user_id' in input.body) demandOf(card, input.body.user_id)
    // Whose keys the person has looked at here before, is followed with those.
    const row = await fresh(keeper, account, card.user_id)
    await rejudge(keeper, card.user_id)
    return decorated(keeper, card, row)
  },

  update: async (input, context) => {
    const keeper = keeperOf(context)
    const { account } = context
    const { id } = input
    if (keeper === null || !isId('acc_', id)) return account.trustCards.update(input)
    // The name and the number that was compared stay on this device.
    const { name, safety_number, ...body } = input.body
    requirePair(body.confirmed, safety_number)
    const row =
      safety_number === undefined ? null : await toConfirm(keeper, account, id, safety_number)
    const card = await account.trustCards.update({ id, body })
    keeper.demandSeat()
    demandOf(card, id)
    if (row !== null) requireSame(keeper, row)
    // Before another look, which may find another.
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
      // Unfollowed on another device, and followed here still.
      if (!isGone || (keeper?.state.trust.get(id) ?? null) === null) throw error
    }
    if (keeper === null) return
    unpin(keeper, id)
    await rejudge(keeper, id)
  },

  history: async (input, { account, device }) =>
    device === null ? account.trustCards.history(input) : historyOf(device, account, input),
}

/** Throws AppError validation_failed unless `confirmed` and `safety_number` come together. */
function requirePair(confirmed: true | undefined, number: string | undefined): void {
  if ((confirmed === undefined) === (number === undefined)) return
  const [path, message] =
    number === undefined
      ? ['safety_number', 'Give the safety number that you compared, as the trust card has it.']
      : ['confirmed', 'Give "confirmed": true with the safety number that you compared.']
  throw invalid('body', [{ path, message }])
}

const otherNumber = () =>
  new AppError(
    'conflict',
    'This is not the safety number of their keys and yours now: they changed, or a digit differs. Compare the number that the trust card has now, then confirm with that one.',
  )

/** Throws AppError conflict where a sync learned of other keys while the account server was asked. */
function requireSame({ state }: Device, { account, newest }: TrustRow): void {
  const now = state.trust.get(account)
  if (now !== null && (now.newest !== newest || now.refused !== null)) throw otherNumber()
}

/**
 * The keys to be confirmed, fetched anew.
 * @param number the safety number that the person compared
 * @throws AppError conflict where the keys have another number by now, and as `requireConfirmable`
 */
async function toConfirm(
  device: Device,
  account: Account,
  id: string,
  number: string,
): Promise<TrustRow> {
  // The account server decides whether the account is followed, before this device keeps anything.
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
    const { look } = await keys()
    const { changesSince } = await import('../device/logs/trust-history.ts')
    let [confirmed, changed] = [0, 0]
    for (const card of await every((query) => account.trustCards.list(query))) {
      const row = await look(device, account, card)
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
