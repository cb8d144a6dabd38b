/** Runs two devices through a first contact by four words, step by step. */
import type { TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import { contactOf } from '../../src/device/first-contacts/outcomes.ts'
import { approveByWords, makeWords } from '../../src/device/first-contacts/four-words.ts'
import { worldOf, type DeviceUser } from '../world/world.ts'
import { keyStatusOf } from '../../src/state/trust.ts'

/** Returns an invitation of Bob by Ada, with words. */
export async function invited(t: TestContext) {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const connection = await ada.connect()
  const invitation = await ada.invite(connection, { user_id: bob.id })
  const { words } = await makeWords(ada.device(), ada.account(), invitation)
  return { world, ada, bob, connection, invitation, words }
}

export const turn = (user: DeviceUser) => user.device().firstContacts.turn()

/** Runs both sides; the inviter’s device answers at once. */
export async function typed(
  bob: DeviceUser,
  id: string,
  words: string,
  ...answering: readonly DeviceUser[]
) {
  const approving = approveByWords(bob.device(), bob.account(), { id, words })
  // The caller handles a refusal.
  approving.catch(() => undefined)
  await began(bob, id)
  for (const user of answering) await turn(user)
  await turn(bob)
  for (const user of answering) await turn(user)
  return approving
}

/** Waits until the first message is at the account server, or the attempt was refused. */
export async function began(bob: DeviceUser, id: string) {
  for (let looked = 0; looked < 200; looked++) {
    if (bob.state.firstContacts.get(id)?.state === 'open') return turn(bob)
    await new Promise(setImmediate)
  }
}

export const trusts = (user: DeviceUser, { id }: DeviceUser) => {
  const row = user.state.trust.get(id)
  return row === null ? 'none' : keyStatusOf(row)
}

export const outcomes = (user: DeviceUser) =>
  user.state.firstContacts.all().map((row) => {
    const { state, reason } = contactOf({ state: user.state, own: user.id }, row)
    return [state, reason]
  })

/** Returns the states of the events that report the end of first contacts. */
export const reportedEnds = ({ state }: DeviceUser): string[] =>
  state.events
    .after(0, 1000)
    .flatMap(({ type, data }) =>
      type === 'first_contact.ended' ? [(data as { state: string }).state] : [],
    )

/** Returns four other words of the list. */
export const otherThan = (words: string) => {
  const others = [1, 2, 3, 4].map((index) => wordsAt([index])[0])
  return others.join(' ') === words ? wordsAt([5, 6, 7, 8]).join(' ') : others.join(' ')
}

type Send = Account['deviceFirstContacts']['send']

export const withSend = (account: Account, send: Send): Account => ({
  ...account,
  deviceFirstContacts: { ...account.deviceFirstContacts, send },
})

type Runs = Awaited<ReturnType<Account['deviceFirstContacts']['list']>>['items']

/** An account server that changes what it delivers. */
export const delivering =
  (change: (items: Runs) => Runs | Promise<Runs>) =>
  (account: Account): Account => ({
    ...account,
    deviceFirstContacts: {
      ...account.deviceFirstContacts,
      list: async () => ({
        items: await change((await account.deviceFirstContacts.list({})).items),
      }),
    },
  })
