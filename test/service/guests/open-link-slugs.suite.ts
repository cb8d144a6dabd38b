/**
 * Proposed slugs: readable ones, made of names as far as they can be spelled. For every engine.
 */
import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import type { Links } from './open-links-subject.ts'

export function openLinkSlugsSuite(links: () => Links): void {
  let { newPerson, link } = {} as Links
  before(() => {
    ;({ newPerson, link } = links())
  })

  describe('a proposed slug', () => {
    const word = '[a-z]{3,9}'
    const cases: [name: string, slug: RegExp][] = [
      ['Grace Hopper', /^grace-hopper$/],
      ['Søren Łukasz Weiß', /^soren-lukasz-weiss$/],
      ['  J.R.R. Tolkien, jr. ', /^j-r-r-tolkien-jr$/],
      ['Ab', new RegExp(`^ab-${word}$`)],
      ['Жанна', new RegExp(`^${word}-${word}-${word}$`)],
      ['明日香', new RegExp(`^${word}-${word}-${word}$`)],
      ['🙂', new RegExp(`^${word}-${word}-${word}$`)],
      ['<script>alert(1)</script>', /^script-alert-1-script$/],
      ['x'.repeat(90), /^x{40}$/],
      [
        `Maximiliana ${'Konstantinopolitana '.repeat(4)}`.trim(),
        /^maximiliana-konstantinopolitana$/,
      ],
    ]
    for (const [name, slug] of cases)
      test(name.slice(0, 30), async () => {
        const eve = await newPerson(name)
        const proposed = await eve.account.openLinks.suggest({})
        assert.match(proposed.slug, slug)
        assert.deepEqual((await eve.account.openLinks.list({})).items, [])
        const made = await link(eve, proposed)
        assert.equal(made.slug, proposed.slug)
        // This slug is in use now: the next proposal is another one, also free and readable.
        const next = await eve.account.openLinks.suggest({})
        assert.notEqual(next.slug, made.slug)
        await link(eve, next)
      })

    test('is the handle, if there is one', async () => {
      const eve = await newPerson('Eve')
      const handle = 'e'.repeat(39) + '1'
      await eve.account.profile.update({ body: { handle } })
      assert.equal((await eve.account.openLinks.suggest({})).slug, handle)
    })
  })
}
