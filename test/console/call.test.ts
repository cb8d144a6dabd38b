/** A call in the console, by keyboard alone: who speaks first, and what is shown when. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { skip } from '../pages/browser.ts'
import { assertFaultless, consoleBrowser, tabTo } from './console.ts'
import { connect, twoUsers, wordsOf } from './two-people.ts'

const verdict = (page: Page) => page.locator('.verdict')
/** The words that the page shows for the user to speak. */
const spoken = async (page: Page) =>
  (await page.locator('.spoken strong').allTextContents()).join(' ')

test('a call in the console', { skip }, async (t) => {
  const { ann, ben } = await twoUsers(t)
  // Words are accepted once, so each test has a connection of its own.
  const connections: string[] = []
  for (const name of ['Ben', 'Ben (bank)', 'Ben (boat)']) {
    const id = await connect(ann, ben, name)
    await ben.call('PATCH', `/api/v1/connections/${id}`, { name: name.replace('Ben', 'Ann') })
    connections.push(id)
  }
  const [connection, bank, boat] = connections as [string, string, string]
  const browser = await consoleBrowser(t)

  await t.test(
    'the first input has the focus, and right words show the own ones only then',
    async () => {
      const page = await browser.open(ben.daemon.address)
      await page.locator('.choices :focus').waitFor()
      await page.keyboard.press('Enter')
      await page.locator('.words-field').waitFor()
      assert.equal(await page.locator('.spoken').count(), 0)
      await page.keyboard.type(`${await wordsOf(ann, connection)}`)
      await page.keyboard.press('Enter')
      await verdict(page).waitFor()
      assert.match(await verdict(page).innerText(), /It is Ann/)
      assert.equal(await verdict(page).getAttribute('data-kind'), 'ok')
      await page.locator('.spoken').waitFor()
      assert.equal(await spoken(page), await wordsOf(ben, connection))
      await page.context().close()
    },
  )

  await t.test(
    'words that were used, own words and wrong words each have a sentence of their own',
    async () => {
      const page = await browser.open(ben.daemon.address, { at: '#/call/in' })
      const check = async (words: string) => {
        await page.locator('.words-field input').first().waitFor()
        await page.keyboard.type(words)
        await page.keyboard.press('Enter')
        await page.locator('[aria-busy=true]').waitFor({ state: 'detached' })
        await verdict(page).waitFor()
        const text = await verdict(page).innerText()
        return [await verdict(page).getAttribute('data-kind'), text.split('\n')[0]]
      }
      const words = await wordsOf(ann, connection)
      await ben.call('POST', '/api/v1/verify', { words })
      const found = [
        await check(words),
        await check(await wordsOf(ben, connection)),
        await check('matador carload recede'),
      ]
      assert.deepEqual(found, [
        ['bad', 'These words were already used. Hang up.'],
        ['bad', 'These are your own words.'],
        ['bad', 'These are not the right words. Hang up, and call back.'],
      ])
      await page.context().close()
    },
  )

  await t.test('words are completed, corrected and moved to the next input', async () => {
    const page = await browser.open(ben.daemon.address, { at: '#/call/in' })
    const inputs = page.locator('.words-field input')
    await inputs.first().waitFor()
    const values = () =>
      inputs.evaluateAll((all) => all.map((one) => (one as unknown as { value: string }).value))
    await page.keyboard.type('matad')
    await page.keyboard.press('Enter')
    await page.keyboard.type('carload receed')
    await page.keyboard.press('Tab')
    assert.deepEqual(await values(), ['matador', 'carload', 'receed'])
    await page.locator('.chip', { hasText: 'recede' }).press('Enter')
    assert.deepEqual(await values(), ['matador', 'carload', 'recede'])
    // Several words begin like this: the first Enter points to one, the second takes it.
    await inputs.last().fill('rec')
    await page.keyboard.press('Enter')
    assert.deepEqual(await values(), ['matador', 'carload', 'rec'])
    const [chosen] = await page.locator('[role=option][aria-selected=true]').allTextContents()
    await page.keyboard.press('Enter')
    assert.deepEqual(await values(), ['matador', 'carload', chosen])
    await inputs.last().fill('qqqq')
    await page.keyboard.press('Enter')
    await page.locator('.near', { hasText: 'Ask for the word again' }).waitFor()
    await page.context().close()
  })

  await t.test(
    'a caller sees their own words, and the words of another person are not those of Ben',
    async () => {
      const page = await browser.open(ann.daemon.address)
      await page.locator('.choices').waitFor()
      await tabTo(page, /^I am calling/)
      await page.keyboard.press('Enter')
      await page.locator('.callee').first().waitFor()
      await page.keyboard.type('bank')
      await page.keyboard.press('Enter')
      await page.locator('.spoken').waitFor()
      assert.equal(await spoken(page), await wordsOf(ann, bank))
      await page.locator('.words-field input').first().focus()
      await page.keyboard.type('matador carload recede')
      await page.keyboard.press('Enter')
      await verdict(page).waitFor()
      assert.match(
        await verdict(page).innerText(),
        /These are not the words of Ben \(bank\)\. Hang up, and call back\./,
      )
      await page.keyboard.type(await wordsOf(ben, bank))
      await page.keyboard.press('Enter')
      await page.locator('.verdict[data-kind=ok]').waitFor()
      assert.match(await verdict(page).innerText(), /It is Ben/)
      await page.context().close()
    },
  )

  await t.test('a purpose is confirmed with words for it alone', async () => {
    const [asking, confirming] = await Promise.all([
      browser.open(ann.daemon.address, { at: `#/call/${boat}` }),
      browser.open(ben.daemon.address, { at: '#/call/in' }),
    ])
    const hear = async (page: Page, words: string) => {
      await page.locator('.words-field input').first().focus()
      await page.keyboard.type(words)
      await page.keyboard.press('Enter')
      await page.locator('.verdict[data-kind=ok]').waitFor()
    }
    await Promise.all([
      hear(confirming, await wordsOf(ann, boat)),
      hear(asking, await wordsOf(ben, boat)),
    ])
    const ask = async () => {
      await tabTo(asking, 'They confirm something to me')
      await asking.keyboard.press('Enter')
      await asking.locator('input:focus').waitFor()
      await asking.keyboard.type('pay 12000 to 1234')
      await asking.keyboard.press('Enter')
      await asking.locator('.spoken').waitFor()
    }
    await ask()
    const word = await spoken(asking)
    await tabTo(confirming, 'I confirm something to them')
    await confirming.keyboard.press('Enter')
    await confirming.locator('input:focus').waitFor()
    await confirming.keyboard.type(word)
    await confirming.keyboard.press('Tab')
    await confirming.getByLabel('What it is for').fill('Pay 12000 to 1234.')
    await confirming.keyboard.press('Enter')
    await confirming.locator('.purpose').waitFor()
    assert.equal(await confirming.locator('.spoken').count(), 0)
    await tabTo(confirming, /Show my words/)
    await confirming.keyboard.press('Enter')
    await confirming.locator('.spoken').waitFor()
    await hear(asking, await spoken(confirming))
    // The first verdict is there until the second one.
    await verdict(asking).filter({ hasText: 'confirms: pay12000to1234' }).waitFor()
    // A wrong answer stands alone: no green box is left beside it.
    await ask()
    await asking.locator('.words-field input').first().focus()
    await asking.keyboard.type('matador carload recede')
    await asking.keyboard.press('Enter')
    await verdict(asking).filter({ hasText: 'This was not confirmed. Hang up.' }).waitFor()
    assert.equal(await verdict(asking).count(), 1)
    assert.equal(await asking.locator('.words-field').count(), 0)
    await Promise.all([asking.context().close(), confirming.context().close()])
  })

  await t.test('axe-core finds nothing in either language', async () => {
    for (const locale of ['en-GB', 'de-DE']) {
      const page = await browser.open(ben.daemon.address, { locale })
      await page.locator('.choices').waitFor()
      await assertFaultless(page)
      await page.goto(`${ben.daemon.address}/#/call/in`)
      await page.locator('.words-field').waitFor()
      await page.keyboard.type('matador carload recede')
      await page.keyboard.press('Enter')
      await verdict(page).waitFor()
      await assertFaultless(page)
      await page.goto(`${ben.daemon.address}/#/call/${connection}`)
      await page.locator('.spoken').waitFor()
      await assertFaultless(page)
      await page.context().close()
    }
  })
})
