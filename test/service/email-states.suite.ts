/** Operations on an address in each of its states, and its owner, for every engine. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DAY, ENDED, LINK, type Mailboxes, openMailboxes } from './emails-subject.ts'
import type { Engine } from './engines.ts'
import { addressOf, arrived, enrolByMail, newAddress, type Person } from './person.ts'

export function emailStatesSuite(name: string, engine: Engine): void {
  let { subject, replica, later, byMail, add, addresses, mailed, claimed, page, confirm, close } =
    {} as Mailboxes
  before(async () => {
    ;({ subject, replica, later, byMail, add, addresses, mailed, claimed, page, confirm, close } =
      await openMailboxes(engine))
  })
  after(() => close())

  describe(`the state of an address: ${name}`, () => {
    describe('an address of another account', () => {
      test('is revealed only to the reader of its mailbox, and stays with its account', async () => {
        const address = newAddress()
        const [ada, eve] = [await byMail(address), await byMail(newAddress(), 'Eve')]
        const nobodys = newAddress()
        const [taken, free] = [await add(eve, address), await add(eve, nobodys)]
        assert.deepEqual({ ...taken, id: '', address: '' }, { ...free, id: '', address: '' })
        const [token = ''] = await mailed(address)
        const [other = ''] = await mailed(nobodys)
        const mails = await Promise.all(
          [address, nobodys].map(async (to) => {
            const { text, subject: about } = await arrived(subject.server, to, LINK)
            return [about, text.replace(/confirm\/.*/, ''), to === address]
          }),
        )
        assert.deepEqual(mails[0]!.slice(0, 2), mails[1]!.slice(0, 2))
        assert.notEqual(token, other)
        const shown = await page(token)
        assert.match(shown, /This address already belongs to an account/)
        assert.doesNotMatch(shown, /<button/, 'there is nothing to confirm')
        assert.match(await confirm(token), /This address already belongs to an account/)
        assert.match(await confirm(token), ENDED)
        assert.deepEqual(await addresses(ada), [address])
        assert.deepEqual(await addresses(eve), [`${nobodys}?`, await addressOf(eve)])
      })

      test('an address that became another account’s before confirmation, by a code or by a link', async () => {
        const [byCode, byLink] = [newAddress(), newAddress()]
        const [eve, ada] = [await byMail(newAddress(), 'Eve'), await byMail()]
        const first = await claimed(eve, byCode)
        const second = await claimed(eve, byLink)
        const { token } = await claimed(ada, byLink)
        await enrolByMail(subject.server, byCode)
        await confirm(token)
        const hers = [`${byLink}?`, `${byCode}?`, await addressOf(eve)]
        assert.deepEqual(await addresses(eve), hers, 'she is not told')
        for (const one of [first, second]) {
          assert.match(await confirm(one.token), /already belongs to an account/)
          assert.match(await confirm(one.token), ENDED)
        }
        assert.deepEqual(await addresses(eve), [await addressOf(eve)])
        assert.deepEqual((await addresses(ada))[0], byLink)
      })

      test('of two concurrent confirmations, one succeeds', async () => {
        const address = newAddress()
        const people = [await byMail(), await byMail(newAddress(), 'Eve')] as const
        const tokens = []
        for (const one of people) tokens.push((await claimed(one, address)).token)
        const text = await Promise.all(
          tokens.flatMap((token) => [confirm(token), confirm(token, replica)]),
        )
        const won = text.filter((text) => /is confirmed/.test(text))
        assert.equal(won.length, 1, text.join('\n'))
        const have = await Promise.all(people.map(addresses))
        assert.equal(have.flat().filter((one) => one === address).length, 1)
        assert(!have.flat().includes(`${address}?`))
      })
    })

    describe('each state of an address, with each operation', () => {
      type State = 'new' | 'waiting' | 'over' | 'own' | 'another’s'
      const WAITS = /Confirm your address/
      const TAKEN = /already belongs to an account/
      const DONE = /Your address is confirmed/
      const TABLE: Record<State, { add: string; page: RegExp; confirm: RegExp; becomes: string }> =
        {
          new: { add: 'another claim', page: ENDED, confirm: ENDED, becomes: '' },
          waiting: { add: 'the same claim', page: WAITS, confirm: DONE, becomes: 'own' },
          over: { add: 'another claim', page: ENDED, confirm: ENDED, becomes: '' },
          own: { add: 'conflict', page: ENDED, confirm: ENDED, becomes: 'own' },
          'another’s': { add: 'the same claim', page: TAKEN, confirm: TAKEN, becomes: '' },
        }

      /** Returns an address in this state, its claim, and the link that was mailed last. */
      async function addressIn(state: State, ada: Person) {
        const address = newAddress()
        if (state === 'new') return { address, id: '', token: 'x'.repeat(43) }
        const { email, token } = await claimed(ada, address)
        if (state === 'over') later(DAY)
        if (state === 'own') await confirm(token)
        if (state === 'another’s') await enrolByMail(subject.server, address, 'Bob')
        return { address, id: email.id, token }
      }

      for (const [state, expected] of Object.entries(TABLE) as [State, (typeof TABLE)[State]][]) {
        test(`${state}: add → ${expected.add}`, async () => {
          const ada = await byMail()
          const { address, id } = await addressIn(state, ada)
          const before = await addresses(ada)
          const added = await add(ada, address).then(
            (email) => (email.id === id ? 'the same claim' : 'another claim'),
            ({ code }: { code: string }) => code,
          )
          assert.equal(added, expected.add)
          const want = added === 'another claim' ? [`${address}?`, ...before] : before
          assert.deepEqual(await addresses(ada), want)
        })

        test(`${state}: open the link → ${expected.page.source}, confirm → ${expected.confirm.source}`, async () => {
          const ada = await byMail()
          const { address, token } = await addressIn(state, ada)
          assert.match(await page(token), expected.page)
          assert.match(await confirm(token), expected.confirm)
          const own = await addressOf(ada)
          const want = expected.becomes === 'own' ? [address, own] : [own]
          assert.deepEqual(await addresses(ada), want)
        })
      }
    })
  })
}
