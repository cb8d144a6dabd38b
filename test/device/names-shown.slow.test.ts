/** Tests which name of an account is shown, and which names are marked as similar to others. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createGuestCode } from '../../src/device/connections/guests.ts'
import { connections } from '../../src/handlers/connections.ts'
import { trustCards } from '../../src/handlers/trust-cards.ts'
import { at, confirmAt } from '../world/requests.ts'
import { called, confirm, connected, give, rename } from './named.ts'
import { type DeviceUser, worldOf } from '../world/world.ts'
import { rejects } from '../rejects.ts'
import { instead } from '../world/interceptor.ts'

describe('the main name of a contact', () => {
  it('is the name at the confirmation of the keys, until they are confirmed again', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await confirm(ada, bob)
    assert.deepEqual(called(ada, bob), ['bob', 'confirmed'])
    await rename(bob, 'Your bank')
    await ada.sync()
    assert.deepEqual(called(ada, bob), ['bob', 'confirmed'])
    const { items } = await trustCards.list({ limit: 1 }, at(ada))
    const { own_name, name_changed } = items[0]!
    assert.deepEqual([own_name, name_changed], ['Your bank', true])
    assert.equal((await ada.hears(bob.words(id))).summary, 'Verified: the words of "Bank" (bob).')
  })

  it('is the contact’s own again after the keys changed', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    await connected(ada, bob)
    await confirm(ada, bob)
    const anew = await world.reset('bob')
    await rename(anew, 'bob')
    await ada.sync()
    assert.deepEqual(called(ada, bob), ['bob', 'self'])
  })

  it('is the first name that confirmed keys sign, not one of earlier keys', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    await connected(ada, bob)
    await confirm(ada, bob)
    assert.deepEqual(called(ada, bob), ['bob', 'confirmed'])
    const anew = await world.reset('bob')
    await confirmAt(ada, anew.id)
    assert.deepEqual(called(ada, anew), ['bob', 'server'])
    await rename(anew, 'Robert')
    world.later(2 * 60)
    await ada.sync()
    assert.deepEqual(called(ada, anew), ['Robert', 'confirmed'])
  })

  it('is the first signed name, if the keys were confirmed before', async (t) => {
    const { world, ada, bob } = await worldOf(t, 'ada', 'bob')
    await confirm(ada, bob)
    assert.deepEqual(called(ada, bob), ['bob', 'server'])
    await bob.sync()
    world.later(2 * 60)
    await ada.sync()
    assert.deepEqual(called(ada, bob), ['bob', 'confirmed'])
  })

  it('is the name that the user gave, in every answer, until it is removed', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    await confirm(ada, bob)
    const { display_name, name_source, own_name } = await give(ada, bob, 'Mum')
    assert.deepEqual([display_name, name_source, own_name], ['Mum', 'given', 'bob'])
    await rename(bob, 'Robert')
    await ada.sync()
    const verified = await ada.hears(bob.words(id))
    assert.deepEqual(
      [verified.matches[0]?.display_name, verified.matches[0]?.name_source],
      ['Mum', 'given'],
    )
    assert.equal(verified.summary, 'Verified: the words of "Bank" (Mum).')
    await give(ada, bob, null)
    assert.deepEqual(called(ada, bob), ['bob', 'confirmed'])
  })

  it('cannot be given without following, and is never sent to the account server', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    await rejects('not_found', give(ada, bob, 'Mum'))
    await trustCards.create({ body: { user_id: bob.id } }, at(ada))
    const bodies: unknown[] = []
    const listening = ada.restart(
      instead('trustCards', 'update', (honest) => (of) => {
        bodies.push(of.body)
        return honest(of)
      }),
    )
    await give(listening, bob, 'Mum')
    assert.deepEqual(bodies, [{}])
    const update = ada.account().trustCards.update({ id: bob.id, body: { name: 'Mum' } })
    await rejects('no_device', update)
  })
})

describe('the name of the listener of own words', () => {
  const named = async (user: DeviceUser, id: string) => {
    const { listener_name, name_source, name_marks } = await connections.code(
      { id, challenge: 'matador' },
      at(user),
    )
    return [listener_name, name_source, name_marks]
  }
  const matched = async (user: DeviceUser, speaker: DeviceUser, id: string) => {
    const { matches } = await user.hears(speaker.words(id))
    const { display_name, name_source, name_marks } = matches[0]!
    return [display_name, name_source, name_marks]
  }

  it('has the same source and marks as in a match with their words', async (t) => {
    const { world, ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    const id = await connected(ada, bob)
    assert.deepEqual(await named(ada, id), ['bob', 'self', []])
    await connected(ada, cy, 'Club')
    await rename(cy, 'Bob')
    await ada.sync()
    assert.deepEqual(await named(ada, id), ['bob', 'self', ['equal']])
    assert.deepEqual(await matched(ada, bob, id), await named(ada, id))
    await confirm(ada, bob)
    world.later(1)
    assert.deepEqual(await named(ada, id), ['bob', 'confirmed', ['equal']])
    assert.deepEqual(await matched(ada, bob, id), await named(ada, id))
  })

  it('is missing from the words for everyone', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const code = await connections.code({ id }, at(ada))
    assert(!('listener_name' in code || 'name_source' in code || 'name_marks' in code))
  })
})

describe('a name in a sentence', () => {
  it('cannot end its quotation, with any quotation marks in it', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const forged = 'x" ("y"), Mum (“Mum”), ❞ ʺ ״ 〃 🙷 guest "z'
    await rename(bob, forged)
    await ada.sync()
    const { summary, matches } = await ada.hears(bob.words(id))
    assert.equal(matches[0]?.display_name, forged)
    const quoted = `"x' ('y'), Mum ('Mum'), ' ' ' ' ' guest 'z"`
    assert.equal(summary, `Verified: the words of "Bank" (calls itself ${quoted}).`)
  })
})

describe('a confusable name', () => {
  const UNSEEN = ['\u115f', '\u1160', '\u3164', '\uffa0', '\u2800', '\u2065', '\u{e0002}', '\ufff0']
  const SPELT = ['anna', 'ANNA', 'anna\u200b', 'a\u0301nna', '\uff21nna', ' an na']
  const TWINS = [...SPELT, ...UNSEEN.map((unseen) => `an${unseen}na`)]

  it('is marked on both contacts, in every spelling that looks the same', async (t) => {
    const { ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    const id = await connected(ada, bob)
    await connected(ada, cy, 'Club')
    await rename(cy, 'Anna')
    for (const twin of TWINS) {
      await rename(bob, twin)
      await ada.sync()
      assert.deepEqual(called(ada, bob), [twin, 'self', ['equal']])
      assert.deepEqual(called(ada, cy), ['Anna', 'self', ['equal']])
    }
    const { summary, matches } = await ada.hears(bob.words(id))
    assert.deepEqual(matches[0]?.name_marks, ['equal'])
    assert.match(summary, /calls itself "an\ufff0na" \[another contact has this name\]/)
    await rename(bob, 'Robert')
    await ada.sync()
    assert.deepEqual(called(ada, cy), ['Anna', 'self'])
  })

  it('of mixed scripts is marked; a look-alike of one whole script is not', async (t) => {
    const { ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    await connected(ada, bob)
    await connected(ada, cy, 'Club')
    await rename(cy, 'ANNA')
    await rename(bob, '\u0410NNA')
    await ada.sync()
    assert.deepEqual(called(ada, bob), ['\u0410NNA', 'self', ['mixed_script']])
    // A documented limit: Cyrillic letters that all look Latin are not distinguished from a
    // Russian name.
    await rename(cy, 'POCCA')
    await rename(bob, '\u0420\u041e\u0421\u0421\u0410')
    await ada.sync()
    assert.deepEqual(called(ada, bob), ['\u0420\u041e\u0421\u0421\u0410', 'self'])
  })

  it('is compared with given names, guests, and connections with one other', async (t) => {
    const { world, ada, bob, cy, dan } = await worldOf(t, 'ada', 'bob', 'cy', 'dan')
    await connected(ada, bob, 'Plumber')
    await connected(ada, cy, 'Club')
    await connected(ada, dan, 'Team')
    await trustCards.create({ body: { user_id: cy.id } }, at(ada))
    await give(ada, cy, 'Mum')
    const made = await ada.account().externalMembers.create({ body: { display_name: 'Uncle' } })
    await createGuestCode(
      ada.device(),
      ada.account(),
      { label: 'Dad', expiresIn: 3600, externalMember: made.id },
      world.clock.ms,
    )
    for (const name of ['MUM', 'dad', 'Uncle', 'plumber']) {
      await rename(dan, name)
      await ada.sync()
      assert.deepEqual(called(ada, dan), [name, 'self', ['equal']])
    }
    // The connection with the contact itself, and the own name, are not other contacts.
    for (const name of ['Team', 'ada']) {
      await rename(dan, name)
      await ada.sync()
      assert.deepEqual(called(ada, dan), [name, 'self'])
    }
  })

  it('is compared with contacts alone, and not with former ones', async (t) => {
    const { ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    const id = await connected(ada, bob)
    await connected(ada, cy, 'Club')
    await rename(cy, 'BOB')
    await ada.sync()
    assert.deepEqual(called(ada, cy), ['BOB', 'self', ['equal']])
    await connections.delete({ id }, at(ada))
    assert.deepEqual(called(ada, cy), ['BOB', 'self'])
  })
})
