/**
 * Tests signed names: the own one, and those of other accounts with a dishonest account server.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connections } from '../../src/handlers/connections.ts'
import { invitations } from '../../src/handlers/invitations.ts'
import { noticeTexts } from '../../src/device/sync/notices.ts'
import { profile } from '../../src/handlers/account.ts'
import { AppError } from '../../src/errors.ts'
import { at } from '../world/requests.ts'
import { called, connected, profileBy, rename, saying } from './named.ts'
import { newWorld, worldOf } from '../world/world.ts'
import { instead, restless } from '../world/interceptor.ts'

describe('the own name', () => {
  it('is signed at the first sync, reaches contacts, and is signed again at each change', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    await connected(ada, bob)
    assert.deepEqual(called(ada, bob), ['bob', 'self'])
    assert.deepEqual(called(bob, ada), ['ada', 'self'])
    const { display_name } = await profile.update({ body: { display_name: 'Robert' } }, at(bob))
    assert.equal(display_name, 'Robert')
    await ada.sync()
    assert.deepEqual(called(ada, bob), ['Robert', 'self'])
    assert.equal(bob.state.profiles.get(bob.id)?.n, 2)
  })

  it('is the one that the user set, not that of the account server', async (t) => {
    const { bob } = await worldOf(t, 'bob')
    await rename(bob, 'Robert')
    const dishonest = bob.restart(
      instead('profile', 'read', (honest) => async (of) => ({
        ...(await honest(of)),
        display_name: 'Mallory',
      })),
    )
    assert.equal((await profile.read({}, at(dishonest))).display_name, 'Robert')
  })

  it('that was set last is in force, on every device', async (t) => {
    const world = await newWorld(t)
    const first = await world.person('bob')
    await first.sync()
    const second = await world.further(first, 'bob 2')
    await second.sync()
    await rename(second, 'Robert')
    await rename(first, 'Bert')
    await second.sync()
    assert.equal(second.state.profiles.get(first.id)?.name, 'Bert')
    await rename(second, 'Robert')
    await first.sync()
    assert.equal(first.state.profiles.get(first.id)?.name, 'Robert')
  })

  it('that is set while the first sync signs another is in force', async (t) => {
    const { bob } = await worldOf(t, 'bob')
    const order: (() => Promise<unknown>)[] = [
      () => bob.device().sync.run('timer'),
      () => rename(bob, 'Robert'),
    ]
    await Promise.all(order.map((step) => step()))
    await bob.sync()
    assert.equal(bob.state.profiles.get(bob.id)?.name, 'Robert')
    assert.equal((await bob.account().profile.read({})).display_name, 'Robert')
  })

  it('is sent again to a server that returns an older one', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    await connected(ada, bob)
    const old = bob.state.profiles.get(bob.id)!.jws
    await rename(bob, 'Robert')
    let given: string | null = null
    const behind = bob.restart((account) => ({
      ...saying(old)(account),
      signedProfiles: { give: async ({ body }) => void (given = body.profile) },
    }))
    await behind.sync()
    assert.equal(given, bob.state.profiles.get(bob.id)?.jws)
  })

  it('is never taken from the account server for a signature', async (t) => {
    const { bob } = await worldOf(t, 'bob')
    const dishonest = bob.restart((account) => ({
      ...account,
      context: {
        ...account.context,
        read: async (of) => {
          const context = await account.context.read(of)
          return { ...context, user: { ...context.user, display_name: 'Mallory' } }
        },
      },
      profile: {
        ...account.profile,
        read: async (of) => ({ ...(await account.profile.read(of)), display_name: 'Mallory' }),
      },
    }))
    await dishonest.sync()
    assert.equal(bob.state.profiles.get(bob.id)?.name, 'bob')
  })

  it('is signed again if the signing device was revoked', async (t) => {
    const world = await newWorld(t)
    const [ada, first] = [await world.person('ada'), await world.person('bob')]
    await connected(ada, first)
    const second = await world.further(first, 'bob 2')
    await second.sync()
    await rename(first, 'Robert')
    await second.sync()
    await second.revoke(first.deviceId)
    await second.sync()
    await ada.sync()
    assert.equal(ada.state.profiles.get(second.id)?.device, second.deviceId)
    assert.deepEqual(called(ada, second), ['Robert', 'self'])
  })

  it('returns to that of the remaining device after a thief’s change, as far as n allows', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    await connected(ada, bob)
    await rename(bob, 'Robert')
    const thief = await world.further(bob, 'bob 2')
    await thief.sync()
    const body = { profile: await profileBy(thief, Number.MAX_SAFE_INTEGER, 'Your bank') }
    await thief.account().signedProfiles.give({ body })
    await ada.sync()
    await bob.sync()
    assert.deepEqual(called(ada, bob), ['Your bank', 'self'])
    await assert.rejects(rename(bob, 'Bert'), (error: unknown) => {
      assert(error instanceof AppError)
      return error.details.state === 'last_name'
    })
    await bob.revoke(thief.deviceId)
    await ada.sync()
    assert.deepEqual(called(ada, bob), ['Robert', 'self'])
    await rename(bob, 'Bert')
    await ada.sync()
    assert.deepEqual(called(ada, bob), ['Bert', 'self'])
  })

  it('is not signed after all devices were replaced, until the user signs it', async (t) => {
    const world = await newWorld(t)
    const [ada, bob] = [await world.person('ada'), await world.person('bob')]
    await connected(ada, bob)
    await rename(bob, 'Robert')
    const anew = await world.reset('bob')
    await anew.sync()
    await anew.sync()
    assert.equal(anew.state.profiles.get(bob.id), null)
    const [notice, ...others] = noticeTexts(anew.state)
    assert.match(notice ?? '', /previous name "Robert".*profile set --name NAME/)
    assert.deepEqual(others, [])
    await profile.update({ body: { display_name: 'Robert' } }, at(anew))
    await ada.sync()
    assert.deepEqual(called(ada, anew), ['Robert', 'self'])
    assert.deepEqual(noticeTexts(anew.state), [])
  })

  it('of a thief is shown after a reset, and never signed, whichever the server picks', async (t) => {
    const world = await newWorld(t)
    const bob = await world.person('bob')
    await bob.sync()
    const thief = await world.further(bob, 'thief')
    await thief.sync()
    const forged = await profileBy(thief, 9, 'Your bank')
    await bob.revoke(thief.deviceId)
    const anew = (await world.reset('bob')).restart(saying(forged))
    await anew.sync()
    assert.equal(anew.state.profiles.get(bob.id), null)
    assert.match(noticeTexts(anew.state)[0] ?? '', /previous name "Your bank".*now revoked/)
    const unsigned = forged.replace(/.$/, (last) => (last === 'A' ? 'g' : 'A'))
    const other = (await world.reset('bob')).restart(saying(unsigned))
    await other.sync()
    assert.deepEqual(noticeTexts(other.state), [])
  })

  it('that another device signs after a reset is in force here, too', async (t) => {
    const world = await newWorld(t)
    const bob = await world.person('bob')
    await bob.sync()
    const anew = await world.reset('bob')
    await anew.sync()
    const second = await world.further({ ...anew, name: 'bob' }, 'second')
    await second.sync()
    assert.equal(noticeTexts(second.state).length, 1)
    await rename(anew, 'Robert')
    await second.sync()
    assert.deepEqual(noticeTexts(second.state), [])
    assert.equal(second.state.profiles.get(bob.id)?.name, 'Robert')
  })
})

describe('a dishonest account server', () => {
  it('changes names: signed names stay unchanged', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    const id = await connected(ada, bob)
    const lying = ada.restart((account) =>
      restless({
        ...account,
        connections: {
          ...account.connections,
          list: async (page) => {
            const { items, next_cursor } = await account.connections.list(page)
            const members = items[0]!.members.map((one) => ({ ...one, display_name: 'The Bank' }))
            return { items: items.map((item) => ({ ...item, members })), next_cursor }
          },
          read: async (of) => {
            const read = await account.connections.read(of)
            const members = read.members.map((one) => ({ ...one, display_name: 'The Bank' }))
            return { ...read, members }
          },
        },
      }),
    )
    await lying.sync()
    const { matches } = await lying.hears(bob.words(id))
    assert.deepEqual([matches[0]?.display_name, matches[0]?.name_source], ['bob', 'self'])
    for (const read of [
      await connections.read({ id }, at(lying)),
      (await connections.list({ limit: 1 }, at(lying))).items[0]!,
    ])
      assert.deepEqual(
        new Map(read.members.map((one) => [one.display_name, one.name_source])),
        new Map([
          ['ada', 'own'],
          ['bob', 'self'],
        ]),
      )
  })

  it('returns an older name again, or withholds it: the newer one stays', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    await connected(ada, bob)
    const old = bob.state.profiles.get(bob.id)!.jws
    await rename(bob, 'Robert')
    await ada.sync()
    for (const given of [old, undefined]) {
      await ada.restart(saying(given)).device().sync.run('request')
      assert.deepEqual(called(ada, bob), ['Robert', 'self'])
    }
  })

  it('returns a name of another account, of a stranger, or an unreadable one: none counts', async (t) => {
    const { ada, bob, eve } = await worldOf(t, 'ada', 'bob', 'eve')
    await connected(ada, bob)
    const forged = [
      await profileBy(eve, 9, 'Your bank'),
      (await profileBy(bob, 9, 'Your bank')).replace(/.$/, (last) => (last === 'A' ? 'g' : 'A')),
      await profileBy(bob, 9, 'a\u202eb'),
    ]
    for (const jws of forged) {
      await ada.restart(saying(jws)).device().sync.run('request')
      assert.deepEqual(called(ada, bob), ['bob', 'self'])
    }
  })

  it('returns two names with one n: every device uses the same, in either order', async (t) => {
    const { ada, bob, cy } = await worldOf(t, 'ada', 'bob', 'cy')
    await connected(ada, bob)
    await connected(cy, bob)
    const two = [await profileBy(bob, 9, 'Robert'), await profileBy(bob, 9, 'Bert')] as const
    for (const jws of two) await ada.restart(saying(jws)).device().sync.run('request')
    for (const jws of two.toReversed()) await cy.restart(saying(jws)).device().sync.run('request')
    assert.deepEqual(called(ada, bob), called(cy, bob))
  })

  it('is asked for the name of an inviter before the user approves', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    await ada.sync()
    await ada.invite(await ada.connect(), { user_id: bob.id })
    const { received } = await invitations.pending({}, at(bob))
    const { display_name, name_source } = received[0]!.from
    assert.deepEqual([display_name, name_source], ['ada', 'self'])
    const approved = await invitations.approve({ id: received[0]!.id, body: {} }, at(bob))
    assert.equal(approved.from.name_source, 'self')
  })

  it('returns a name that is not signed: its source is the server', async (t) => {
    const { ada, bob } = await worldOf(t, 'ada', 'bob')
    await ada.invite(await ada.connect(), { user_id: bob.id })
    const { received } = await invitations.list({}, at(bob))
    assert.deepEqual(
      [received[0]?.from.display_name, received[0]?.from.name_source],
      ['ada', 'server'],
    )
  })
})
