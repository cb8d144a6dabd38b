/** Tests first contact by four words: two devices over an honest account server. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { approveByWords, makeWords } from '../../src/device/first-contacts/four-words.ts'
import {
  began,
  invited,
  otherThan,
  outcomes,
  reportedEnds,
  trusts,
  turn,
  typed,
  withSend,
} from './contacting.ts'
import { instead } from '../world/interceptor.ts'
import { isIn, newWorld, verifies } from '../world/world.ts'
import { rejects } from '../rejects.ts'

describe('two devices', () => {
  it('confirm each other, and the invitation is approved by that', async (t) => {
    const { world, ada, bob, connection, invitation, words } = await invited(t)
    assert.equal(words.split(' ').length, 4)
    const approved = await typed(bob, invitation.id, words.toUpperCase(), ada)
    assert.equal(approved.state, 'approved')
    assert.deepEqual([trusts(ada, bob), trusts(bob, ada)], ['confirmed', 'confirmed'])
    assert.deepEqual([outcomes(ada), outcomes(bob)], [[['confirmed', null]], [['confirmed', null]]])
    assert.deepEqual([reportedEnds(ada), reportedEnds(bob)], [['confirmed'], ['confirmed']])
    for (const [user, other] of [
      [ada, bob],
      [bob, ada],
    ] as const) {
      const { items } = await user.account().trustCards.list({})
      assert.deepEqual(
        items.map((card) => card.user_id),
        [other.id],
      )
      assert.deepEqual(
        user.state.secrets.ids().filter((id) => id.startsWith('words')),
        [],
      )
    }
    await ada.sync()
    await bob.sync()
    assert(isIn(ada, connection, bob))
    world.later()
    assert(await verifies(ada, bob, connection))
  })

  it('leave no message at the account server', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    await typed(bob, invitation.id, words, ada)
    const read = bob.account().deviceFirstContacts.read({ invitation: invitation.id })
    await rejects('not_found', read)
  })

  it('can be used by a mailbox without an account, which signs up while the words are valid', async (t) => {
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

describe('wrong words', () => {
  it('end the run on both sides, approve nothing, and are used up', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    const wrong = typed(bob, invitation.id, otherThan(words), ada)
    await rejects('invalid_state', wrong, { state: 'wrong_words' })
    assert.deepEqual([trusts(ada, bob), trusts(bob, ada)], ['none', 'none'])
    assert.deepEqual(outcomes(ada), [['failed', 'wrong_words']])
    assert.deepEqual([reportedEnds(ada), reportedEnds(bob)], [['failed'], ['failed']])
    const { received } = await bob.account().invitations.list({})
    assert.equal(received[0]?.state, 'pending')
    await rejects('invalid_state', typed(bob, invitation.id, words, ada), { state: 'words_used' })
  })

  it('leave new words valid that are created while the end of the run is stored', async (t) => {
    const { ada, bob, invitation, words } = await invited(t)
    let creating: ReturnType<typeof makeWords> | undefined
    const asks = ada.restart(
      instead('deviceFirstContacts', 'end', (honest) => async (input) => {
        creating ??= makeWords(asks.device(), ada.account(), invitation)
        for (let turns = 0; turns < 200; turns++) await new Promise(setImmediate)
        return honest(input)
      }),
    )
    const wrong = typed(bob, invitation.id, otherThan(words), asks)
    await rejects('invalid_state', wrong, { state: 'wrong_words' })
    const again = await creating
    assert.equal((await typed(bob, invitation.id, again?.words ?? '', asks)).state, 'approved')
  })

  it('are limited to three in 15 minutes, across restarts and new words', async (t) => {
    const { world, ada, bob, invitation, words: first } = await invited(t)
    let words = first
    let user = bob
    for (let tried = 0; tried < 3; tried++) {
      await rejects('invalid_state', typed(user, invitation.id, otherThan(words), ada), {
        state: 'wrong_words',
      })
      words = (await makeWords(ada.device(), ada.account(), invitation)).words
      user = user.restart()
    }
    await rejects('invalid_state', typed(user, invitation.id, words, ada), {
      state: 'too_many_tries',
    })
    world.later(15)
    words = (await makeWords(ada.device(), ada.account(), invitation)).words
    await typed(user, invitation.id, words, ada)
    assert.equal(trusts(user, ada), 'confirmed')
  })

  it('with a typing error do not count as a try', async (t) => {
    const { bob, ada, invitation, words } = await invited(t)
    const tried = (text: string) =>
      approveByWords(bob.device(), bob.account(), { id: invitation.id, words: text })
    await rejects('word_count', tried(words.split(' ').slice(1).join(' ')))
    await rejects('unknown_word', tried(`${words.split(' ').slice(1).join(' ')} xyzzy`))
    assert.equal(bob.state.firstContacts.tries(invitation.id, 0), 0)
    assert.equal((await typed(bob, invitation.id, words, ada)).state, 'approved')
  })
})

describe('15 minutes', () => {
  it('end the inviter’s words, also if a server still delivers messages', async (t) => {
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
    await rejects('invalid_state', approving, { state: 'words_expired' })
  })

  it('are rejected at once if the inviter’s words have expired', async (t) => {
    const { world, bob, invitation, words } = await invited(t)
    world.later(15)
    await rejects('invalid_state', typed(bob, invitation.id, words), { state: 'no_words' })
  })
})

describe('a restart', () => {
  it('of the inviter, before and after the answer', async (t) => {
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

  it('of the inviter between storing and sending the reply: the reply is made again', async (t) => {
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
