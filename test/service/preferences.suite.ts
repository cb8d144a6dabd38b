/** The account’s own profile and preferences, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { newId } from '../../src/crypto/encoding/id.ts'
import { enrol, type Person } from './person.ts'
import { openSubject, type LocalSubject } from './subject.ts'
import type { Engine } from './engines.ts'
import { rejects } from '../rejects.ts'

/** Returns a handle that is not in use. */
const newHandle = () => `h${newId('', Date.now())}`

export function preferencesSuite(name: string, { newPlace }: Engine): void {
  let subject: LocalSubject
  let ada: Person
  const open = async () => {
    subject = await openSubject(await newPlace())
    ada = await enrol(subject.server, 'Ada')
  }

  describe(`preferences: ${name}`, () => {
    before(open)
    after(() => subject.close())

    const defaults = {
      locale: 'en',
      time_zone: 'UTC',
      public_code: false,
      email_notifications: true,
      findable_by_email: true,
    }

    test('returns defaults for unset values; a change keeps the others', async () => {
      const { preferences } = ada.account
      assert.deepEqual(await preferences.read({}), defaults)
      let expected: object = defaults
      for (const body of [
        {},
        { locale: 'de-CH' },
        { time_zone: 'Europe/Zurich' },
        { email_notifications: false },
        { locale: 'fr', email_notifications: true },
        { public_code: false },
        { locale: null },
        { time_zone: null },
        { locale: null, time_zone: 'UTC' },
      ]) {
        const unset = Object.entries(body).filter(([, value]) => value === null)
        const back = unset.map(([key]) => [key, defaults[key as keyof typeof defaults]])
        expected = { ...expected, ...body, ...Object.fromEntries(back) }
        assert.deepEqual(await preferences.update({ body }), expected)
        assert.deepEqual(await preferences.read({}), expected)
      }
      const other = await enrol(subject.server)
      assert.deepEqual(await other.account.preferences.read({}), defaults)
    })

    for (const body of [
      { time_zone: 'Mars/Olympus' },
      { time_zone: '../etc/localtime' },
      { time_zone: '' },
      { locale: 'x' },
      { locale: 'en-x' },
      { locale: 'de_CH' },
      { public_code: null },
      { email_notifications: null },
      { colour: 'red' },
    ])
      test(`rejects ${JSON.stringify(body)}`, async () => {
        const before = await ada.account.preferences.read({})
        const update = ada.account.preferences.update({
          body: { ...body, locale: 'it', ...body } as object,
        })
        await rejects('validation_failed', update)
        assert.deepEqual(await ada.account.preferences.read({}), before)
      })
  })

  describe(`the own profile: ${name}`, () => {
    before(open)
    after(() => subject.close())

    test('a change keeps other fields, null clears, and others see the handle and the headline', async () => {
      const { profile, profiles, context } = ada.account
      const handle = newHandle()
      const first = { display_name: 'Ada', handle: null, headline: null, public_code: null }
      assert.deepEqual(await profile.read({}), first)
      let expected: object = first
      for (const body of [
        {},
        { headline: 'Counts on engines' },
        { handle },
        { handle },
        { display_name: 'Ada L.' },
      ]) {
        expected = { ...expected, ...body }
        assert.deepEqual(await profile.update({ body }), expected)
        assert.deepEqual(await profile.read({}), expected)
      }
      const headline = 'Counts on engines'
      const shown = { id: ada.id, display_name: 'Ada L.', handle, headline, kind: 'person' }
      assert.deepEqual(await profiles.read({ id: ada.id }), shown)
      const bob = await enrol(subject.server)
      assert.deepEqual(await bob.account.profiles.read({ id: handle }), shown)
      assert.equal((await context.read({})).user.display_name, 'Ada L.')
      await profile.update({ body: { handle: null } })
      assert.equal((await profiles.read({ id: ada.id })).handle, null)
      await rejects('not_found', profiles.read({ id: handle }))
      const without = await profile.update({ body: { headline: null } })
      assert.equal(without.headline, null)
    })

    test('60 handles an hour can be looked up, and ids without a limit', async () => {
      const bob = await enrol(subject.server)
      const { profiles } = bob.account
      for (let i = 0; i < 60; i++) await rejects('not_found', profiles.read({ id: newHandle() }))
      await rejects('rate_limited', profiles.read({ id: newHandle() }))
      assert.equal((await profiles.read({ id: bob.id })).id, bob.id)
    })

    test('a handle belongs to one account until it is released; of several concurrent requests one succeeds', async () => {
      const handle = newHandle()
      const others = await Promise.all([1, 2, 3].map(() => enrol(subject.server)))
      const tried = await Promise.allSettled(
        [ada, ...others].map(({ account }) => account.profile.update({ body: { handle } })),
      )
      assert.equal(tried.filter(({ status }) => status === 'fulfilled').length, 1)
      for (const one of tried)
        if (one.status === 'rejected')
          await rejects('conflict', Promise.reject(one.reason as Error))
      const at = tried.findIndex(({ status }) => status === 'fulfilled')
      const people = [ada, ...others]
      const [owner, next] = [people[at], people[(at + 1) % 4]] as [Person, Person]
      await rejects('conflict', next.account.profile.update({ body: { handle, headline: 'x' } }))
      assert.equal((await next.account.profile.read({})).headline, null)
      await owner.account.profile.update({ body: { handle: null } })
      assert.equal((await next.account.profile.update({ body: { handle } })).handle, handle)
    })

    for (const body of [
      { handle: 'ab' },
      { handle: 'Ada' },
      { handle: '-ada' },
      { handle: 'ada-' },
      { handle: 'a'.repeat(41) },
      { display_name: null },
      { display_name: ' ' },
      { display_name: 'a\u202eb' },
      { headline: 'a\nb' },
      { public_code: null },
    ])
      test(`rejects ${JSON.stringify(body)}`, async () => {
        const update = ada.account.profile.update({ body: body as object })
        await rejects('validation_failed', update)
      })
  })
}
