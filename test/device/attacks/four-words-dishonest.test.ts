/** Tests first contact by four words over a dishonest account server. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { approveByWords, makeWords } from '../../../src/device/first-contacts/four-words.ts'
import {
  began,
  delivering,
  invited,
  otherThan,
  outcomes,
  trusts,
  turn,
  typed,
  withSend,
} from '../contacting.ts'
import { rejects } from '../../rejects.ts'

describe('a dishonest account server', () => {
  it('that names another inviter after the right words: the device approves and confirms nothing', async (t) => {
    const { world, ada, bob, invitation, words } = await invited(t)
    const eve = await world.person('eve')
    const connection = await eve.connect('Trap')
    const swapped = bob.restart((account) => ({
      ...account,
      consents: {
        ...account.consents,
        wanted: async (input) => ({
          ...(await account.consents.wanted(input)),
          connection,
          inviter: eve.id,
        }),
      },
    }))
    await rejects('invalid_state', typed(swapped, invitation.id, words, ada), {
      state: 'ad_mismatch',
    })
    assert.deepEqual([trusts(swapped, ada), trusts(swapped, eve)], ['none', 'none'])
  })

  it('that names another account as the one that typed the words', async (t) => {
    const { world, ada, bob, invitation, words } = await invited(t)
    const eve = await world.person('eve')
    const lied = ada.restart(
      delivering((items) => items.map((run) => ({ ...run, invitee: run.invitee && eve.id }))),
    )
    await rejects('invalid_state', typed(bob, invitation.id, words, lied), { state: 'ad_mismatch' })
    assert.deepEqual(outcomes(ada), [['failed', 'ad_mismatch']])
    assert.deepEqual(
      [trusts(ada, eve), trusts(ada, bob), trusts(bob, ada)],
      ['none', 'none', 'none'],
    )
  })

  it('that returns another key log for the inviter to the invitee', async (t) => {
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
    await rejects('invalid_state', typed(swapped, invitation.id, words, ada), {
      state: 'ad_mismatch',
    })
    assert.deepEqual([trusts(ada, bob), trusts(swapped, ada)], ['none', 'none'])
    assert.deepEqual(outcomes(ada), [['failed', 'ad_mismatch']])
  })

  it('that returns the first message as the reply, and swaps the replies of two runs', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    const echoing = bob.restart(
      delivering((items) =>
        items.map((run) => ({ ...run, messages: [run.messages[0]!, run.messages[0]!] })),
      ),
    )
    await rejects('invalid_state', typed(echoing, invitation.id, words, ada), {
      state: 'message_refused',
    })

    const { words: again } = await makeWords(ada.device(), ada.account(), invitation)
    const old: string[] = []
    const recorded = bob.restart(
      delivering((items) => {
        old.push(...items.flatMap(({ messages }) => messages.slice(1, 2)))
        return items
      }),
    )
    const wrong = typed(recorded, invitation.id, otherThan(again), ada)
    await rejects('invalid_state', wrong, { state: 'wrong_words' })
    const { words: third } = await makeWords(ada.device(), ada.account(), invitation)
    const replaying = bob.restart(
      delivering((items) =>
        items.map((run) => ({ ...run, messages: [run.messages[0]!, old[0]!] })),
      ),
    )
    await rejects('invalid_state', typed(replaying, invitation.id, third, ada), {
      state: 'wrong_words',
    })
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

  it('that delivers the message to another device of the inviter, which does not answer', async (t) => {
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
    // An honest server does not deliver to that device at all.
    assert.deepEqual((await second.account().deviceFirstContacts.list({})).items, [])
    await turn(ada)
    await turn(bob)
    await turn(ada)
    await approving
    assert.equal(trusts(ada, bob), 'confirmed')
  })

  it('learns nothing from wrong words, except that they were wrong', async (t) => {
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
