/** First contact by four words: two devices over one account server, honest or not. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { TestContext } from 'node:test'
import type { Account } from '../../src/api/port.ts'
import { wordsAt } from '../../src/crypto/words.ts'
import { contactOf } from '../../src/device/first-contact-ends.ts'
import { approveByWords, makeWords } from '../../src/device/four-words.ts'
import { statusOf } from '../../src/device/trust.ts'
import { AppError } from '../../src/errors.ts'
import { newWorld, worldOf, isIn, verifies, type Desk } from './people.ts'

/** An invitation of Bob by Ada, with words. */
async function invited(t: TestContext) {
  const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
  const connection = await ada.connect()
  const invitation = await ada.invite(connection, { user_id: bob.id })
  const { words } = await makeWords(ada.device(), ada.account(), invitation)
  return { world, ada, bob, connection, invitation, words }
}

const turn = (desk: Desk) => desk.device().firstContacts.turn()

/** What both sides do while the inviter's device answers as soon as it is asked. */
async function typed(bob: Desk, id: string, words: string, ...answering: readonly Desk[]) {
  const approving = approveByWords(bob.device(), bob.account(), { id, words })
  // Its refusal is for the caller, whenever it comes.
  approving.catch(() => undefined)
  await began(bob, id)
  for (const desk of answering) await turn(desk)
  await turn(bob)
  for (const desk of answering) await turn(desk)
  return approving
}

/** Waits until the first message is at the account server, or the try was refused. */
async function began(bob: Desk, id: string) {
  for (let looked = 0; looked < 200; looked++) {
    if (bob.state.firstContacts.get(id)?.state === 'open') return turn(bob)
    await new Promise(setImmediate)
  }
}

const trusts = (desk: Desk, { id }: Desk) => {
  const row = desk.state.trust.get(id)
  return row === null ? 'none' : statusOf(row)
}

const outcomes = (desk: Desk) =>
  desk.state.firstContacts.all().map((row) => {
    const { state, reason } = contactOf(row)
    return [state, reason]
  })

const refusedAs = (state: string) => (error: unknown) => {
  assert(error instanceof AppError, String(error))
  assert.deepEqual([error.code, error.details.state], ['invalid_state', state])
  return true
}

/** Four words of the list, but not these. */
const otherThan = (words: string) => {
  const others = [1, 2, 3, 4].map((index) => wordsAt([index])[0])
  return others.join(' ') === words ? wordsAt([5, 6, 7, 8]).join(' ') : others.join(' ')
}

describe('two devices', () => {
  it('confirm each other, and the invitation is approved by it', async (t) => {
    const { world, ada, bob, connection, invitation, words } = await invited(t)
    assert.equal(words.split(' ').length, 4)
    const approved = await typed(bob, invitation.id, words.toUpperCase(), ada)
    assert.equal(approved.state, 'approved')
    assert.deepEqual([trusts(ada, bob), trusts(bob, ada)], ['confirmed', 'confirmed'])
    assert.deepEqual([outcomes(ada), outcomes(bob)], [[['confirmed', null]], [['confirmed', null]]])
    for (const [desk, other] of [
      [ada, bob],
      [bob, ada],
    ] as const) {
      const { items } = await desk.account().trustCards.list({})
      assert.deepEqual(
        items.map((card) => card.user_id),
        [other.id],
      )
      assert.deepEqual(
        desk.state.secrets.ids().filter((id) => id.startsWith('words')),
        [],
      )
    }
    await ada.sync()
    await bob.sync()
    assert(isIn(ada, connection, bob))
    world.later()
    assert(await verifies(ada, bob, connection))
  })

  it('nothing of it stays at the account server', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    await typed(bob, invitation.id, words, ada)
    const read = bob.account().deviceFirstContacts.read({ invitation: invitation.id })
    await assert.rejects(read, { code: 'not_found' })
  })

  it('a mailbox without an account yet signs up while the words are good', async (t) => {
    const world = await newWorld(t)
    const ada = await world.person('ada')
    const connection = await ada.connect()
    const invitation = await ada.invite(connection, { email: 'bob@example.org' })
    const { words, to } = await makeWords(ada.device(), ada.account(), invitation)
    assert.equal(to, 'bob@example.org')
    const bob = await world.person('bob')
    world.later(10)
    await typed(bob, invitation.id, words, ada)
    assert.deepEqual([trusts(ada, bob), trusts(bob, ada)], ['confirmed', 'confirmed'])
    assert.equal(ada.state.firstContacts.get(invitation.id)?.peer, bob.id)
  })
})

describe('words that are not right', () => {
  it('end the run on both sides, approve nothing, and are used', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    const wrong = typed(bob, invitation.id, otherThan(words), ada)
    await assert.rejects(wrong, refusedAs('wrong_words'))
    assert.deepEqual([trusts(ada, bob), trusts(bob, ada)], ['none', 'none'])
    assert.deepEqual(outcomes(ada), [['failed', 'wrong_words']])
    const { received } = await bob.account().invitations.list({})
    assert.equal(received[0]?.state, 'pending')
    await assert.rejects(typed(bob, invitation.id, words, ada), refusedAs('words_used'))
  })

  it('three in 15 minutes are the most, across restarts and new words', async (t) => {
    const { world, ada, bob, invitation, words: first } = await invited(t)
    let words = first
    let desk = bob
    for (let tried = 0; tried < 3; tried++) {
      await assert.rejects(
        typed(desk, invitation.id, otherThan(words), ada),
        refusedAs('wrong_words'),
      )
      words = (await makeWords(ada.device(), ada.account(), invitation)).words
      desk = desk.restart()
    }
    await assert.rejects(typed(desk, invitation.id, words, ada), refusedAs('too_many_tries'))
    world.later(15)
    words = (await makeWords(ada.device(), ada.account(), invitation)).words
    await typed(desk, invitation.id, words, ada)
    assert.equal(trusts(desk, ada), 'confirmed')
  })

  it('a slip of the finger counts no try', async (t) => {
    const { bob, ada, invitation, words } = await invited(t)
    const tried = (text: string) =>
      approveByWords(bob.device(), bob.account(), { id: invitation.id, words: text })
    await assert.rejects(tried(words.split(' ').slice(1).join(' ')), { code: 'word_count' })
    await assert.rejects(tried(`${words.split(' ').slice(1).join(' ')} xyzzy`), {
      code: 'unknown_word',
    })
    assert.equal(bob.state.firstContacts.tries(invitation.id, 0), 0)
    assert.equal((await typed(bob, invitation.id, words, ada)).state, 'approved')
  })
})

describe('15 minutes', () => {
  it('end the inviter’s words, also for a server that still delivers', async (t) => {
    const { world, ada, bob, invitation, words } = await invited(t)
    const delivering = ada.restart((account) => ({
      ...account,
      deviceFirstContacts: {
        ...account.deviceFirstContacts,
        list: async () => {
          const at = world.clock.ms
          world.clock.ms -= 15 * 60_000
          try {
            return await account.deviceFirstContacts.list({})
          } finally {
            world.clock.ms = at
          }
        },
      },
    }))
    const approving = approveByWords(bob.device(), bob.account(), { id: invitation.id, words })
    await began(bob, invitation.id)
    world.later(15)
    await turn(delivering)
    assert.deepEqual(outcomes(ada), [['failed', 'words_expired']])
    await turn(bob)
    await assert.rejects(approving, refusedAs('words_expired'))
  })

  it('passed before anything was typed', async (t) => {
    const { world, bob, invitation, words } = await invited(t)
    world.later(15)
    await assert.rejects(typed(bob, invitation.id, words), refusedAs('no_words'))
  })
})

describe('a restart', () => {
  it('of the inviter before it answers, and after', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    const approving = approveByWords(bob.device(), bob.account(), { id: invitation.id, words })
    await began(bob, invitation.id)
    await turn(ada.restart())
    assert.equal(ada.state.firstContacts.get(invitation.id)?.state, 'answered')
    await turn(bob)
    await turn(ada.restart())
    await approving
    assert.deepEqual([trusts(ada, bob), trusts(bob, ada)], ['confirmed', 'confirmed'])
  })

  it('of the inviter between the disk and the reply: the reply is made again', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    const approving = approveByWords(bob.device(), bob.account(), { id: invitation.id, words })
    await began(bob, invitation.id)
    const silent = ada.restart((account) => withSend(account, async () => assert.fail('killed')))
    await turn(silent)
    assert.equal(ada.state.firstContacts.get(invitation.id)?.state, 'answered')
    const again = silent.restart((account) => account)
    await turn(again)
    await turn(bob)
    await turn(again)
    await approving
    assert.equal(trusts(ada, bob), 'confirmed')
  })

  it('of the invitee before and after the reply', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    const approving = approveByWords(bob.device(), bob.account(), { id: invitation.id, words })
    await began(bob, invitation.id)
    const second = bob.restart((account) =>
      withSend(account, async (input) => {
        if (input.body.place === 2) assert.fail('killed')
        return account.deviceFirstContacts.send(input)
      }),
    )
    await turn(ada)
    await turn(second)
    assert.equal(bob.state.firstContacts.get(invitation.id)?.state, 'answered')
    const third = bob.restart()
    await turn(third)
    await turn(ada)
    assert.deepEqual([trusts(ada, third), trusts(third, ada)], ['confirmed', 'confirmed'])
    await approving
  })
})

type Send = Account['deviceFirstContacts']['send']

const withSend = (account: Account, send: Send): Account => ({
  ...account,
  deviceFirstContacts: { ...account.deviceFirstContacts, send },
})

type Runs = Awaited<ReturnType<Account['deviceFirstContacts']['list']>>['items']

/** An account server that changes what it delivers. */
const delivering =
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

describe('a dishonest account server', () => {
  it('that names another account as the one who typed', async (t) => {
    const { world, ada, bob, invitation, words } = await invited(t)
    const eve = await world.person('eve')
    const lied = ada.restart(
      delivering((items) => items.map((run) => ({ ...run, invitee: run.invitee && eve.id }))),
    )
    await assert.rejects(typed(bob, invitation.id, words, lied), refusedAs('ad_mismatch'))
    assert.deepEqual(outcomes(ada), [['failed', 'ad_mismatch']])
    assert.deepEqual(
      [trusts(ada, eve), trusts(ada, bob), trusts(bob, ada)],
      ['none', 'none', 'none'],
    )
  })

  it('that shows the invitee another key log of the inviter', async (t) => {
    const { world, ada, bob, invitation, words } = await invited(t)
    const eve = await world.person('eve')
    const swapped = bob.restart((account) => ({
      ...account,
      keyLogs: {
        ...account.keyLogs,
        read: (input) =>
          account.keyLogs.read(input.account === ada.id ? { account: eve.id } : input),
      },
    }))
    await assert.rejects(typed(swapped, invitation.id, words, ada), refusedAs('ad_mismatch'))
    assert.deepEqual([trusts(ada, bob), trusts(swapped, ada)], ['none', 'none'])
    assert.deepEqual(outcomes(ada), [['failed', 'ad_mismatch']])
  })

  it('that plays the first message back as the reply, and swaps replies of two runs', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    const echoing = bob.restart(
      delivering((items) =>
        items.map((run) => ({ ...run, messages: [run.messages[0]!, run.messages[0]!] })),
      ),
    )
    await assert.rejects(typed(echoing, invitation.id, words, ada), refusedAs('message_refused'))

    const { words: again } = await makeWords(ada.device(), ada.account(), invitation)
    const old: string[] = []
    const recorded = bob.restart(
      delivering((items) => {
        old.push(...items.flatMap(({ messages }) => messages.slice(1, 2)))
        return items
      }),
    )
    const wrong = typed(recorded, invitation.id, otherThan(again), ada)
    await assert.rejects(wrong, refusedAs('wrong_words'))
    const { words: third } = await makeWords(ada.device(), ada.account(), invitation)
    const replaying = bob.restart(
      delivering((items) =>
        items.map((run) => ({ ...run, messages: [run.messages[0]!, old[0]!] })),
      ),
    )
    await assert.rejects(typed(replaying, invitation.id, third, ada), refusedAs('wrong_words'))
    assert.equal(trusts(bob, ada), 'none')
  })

  it('that delivers another first message after the inviter answered one', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    const replies: string[] = []
    const watched = ada.restart((account) =>
      withSend(account, async (input) => {
        replies.push(input.body.message)
        return account.deviceFirstContacts.send(input)
      }),
    )
    const approving = approveByWords(bob.device(), bob.account(), { id: invitation.id, words })
    await began(bob, invitation.id)
    await turn(watched)
    const other = watched.restart((account) =>
      withSend(
        delivering((items) =>
          items.map((run) => ({
            ...run,
            messages: [run.messages[0]!.replace(/"share":"./, '"share":"A')],
          })),
        )(account),
        async (input) => void replies.push(input.body.message),
      ),
    )
    await turn(other)
    assert.equal(new Set(replies).size, 1, 'it says the same to whatever comes')
    assert.equal(replies.length, 2)
    await turn(bob)
    await approving
  })

  it('that hands the message to another device of the inviter, which does not answer', async (t) => {
    const { world, ada, bob, invitation, words } = await invited(t)
    const second = await world.further(ada, 'ada2')
    const sent: unknown[] = []
    const eager = second.restart((account) =>
      withSend(
        delivering(async () => (await ada.account().deviceFirstContacts.list({})).items)(account),
        async (input) => void sent.push(input),
      ),
    )
    const approving = approveByWords(bob.device(), bob.account(), { id: invitation.id, words })
    await began(bob, invitation.id)
    await turn(eager)
    assert.deepEqual(sent, [])
    // Honest, it does not even deliver there.
    assert.deepEqual((await second.account().deviceFirstContacts.list({})).items, [])
    await turn(ada)
    await turn(bob)
    await turn(ada)
    await approving
    assert.equal(trusts(ada, bob), 'confirmed')
  })

  it('learns no more of wrong words than that they were wrong', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    const seen: string[] = []
    const watched = bob.restart((account) =>
      withSend(account, async (input) => {
        seen.push(JSON.stringify(input))
        return account.deviceFirstContacts.send(input)
      }),
    )
    await assert.rejects(typed(watched, invitation.id, otherThan(words), ada))
    assert.deepEqual(
      seen.map((text) => JSON.parse(text).body.place),
      [0, 2],
    )
    assert.equal(JSON.parse(JSON.parse(seen[1]!).body.message).failed, 'tag_mismatch')
    for (const word of otherThan(words).split(' '))
      assert(!seen.some((text) => text.includes(word)))
  })
})
