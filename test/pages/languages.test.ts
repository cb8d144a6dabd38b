/**
 * Every state of every public page in German and in a pseudo-language, in Chromium.
 *
 * The pseudo-language encloses each message in brackets, so text outside of brackets is text that
 * no catalogue has. axe-core checks every state. `SCREENSHOTS=FOLDER` also walks in English, and
 * writes the pages there, at two widths, light and dark.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { ENGLISH, type Language, LANGUAGES } from '../../src/languages/languages.ts'
import { assertFits, assertStateAccessible, skip, type Visitor, visitor } from './browser.ts'
import { HOSTILE } from './hostile-names.ts'
import { type Look, walkForms, walkScripted } from './every-page.ts'

type Message = string | Readonly<Record<string, string>>
const bracketed = (text: string) => `⟦${text}⟧`

/** English with each message in brackets. */
const PSEUDO: Language = {
  ...ENGLISH,
  tag: 'qps',
  messages: Object.fromEntries(
    Object.entries(ENGLISH.messages).map(([group, messages]) => [
      group,
      Object.fromEntries(
        Object.entries(messages as Readonly<Record<string, Message>>).map(([key, message]) => [
          key,
          typeof message === 'string'
            ? bracketed(message)
            : Object.fromEntries(
                Object.entries(message).map(([form, text]) => [form, bracketed(text)]),
              ),
        ]),
      ),
    ]),
  ) as unknown as Language['messages'],
}

/**
 * Returns the texts of a page that is not a value: not a name, time, code or English word. Includes
 * the texts that only screen readers announce.
 */
const TEXTS = `(() => {
  const copy = document.documentElement.cloneNode(true)
  const values = 'bdi, time, code, q, [translate=no], #until, dd.value, script, style, textarea'
  copy.querySelectorAll(values).forEach((one) => one.remove())
  const labels = ['aria-label', 'title', 'alt', 'placeholder'].flatMap((name) =>
    [...copy.querySelectorAll('[' + name + ']')].map((one) => one.getAttribute(name)))
  return [copy.textContent, ...labels]
})()`

/** Texts that are the same in every language: the name of the program, and values. */
const SAME = /Countersign|text\/plain|\b\d\d:\d\d\b/g

const spy: Look = async (page, state) => {
  const texts = await page.evaluate<string[]>(TEXTS)
  for (const text of texts) {
    let rest = text
    for (let before = ''; before !== rest;) {
      before = rest
      rest = rest.replaceAll(/⟦[^⟦⟧]*⟧/g, '')
    }
    assert.doesNotMatch(rest.replaceAll(SAME, ''), /\p{L}|⟦|⟧/u, `${state}: ${rest}`)
  }
}

const SCREENSHOTS = process.env['SCREENSHOTS']
async function shoot(page: Page, name: string): Promise<void> {
  if (SCREENSHOTS === undefined) return
  await page.waitForLoadState()
  for (const width of [390, 1280])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.setViewportSize({ width, height: 800 })
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      const path = join(SCREENSHOTS, `${name}-${width}-${colorScheme}.png`)
      await page.screenshot({ path, fullPage: true })
    }
}

/** Checks a page in a language, with names that contain HTML. */
const inLanguage =
  (tag: string): Look =>
  async (page, state) => {
    assert.equal(await page.evaluate('document.documentElement.lang'), tag, state)
    assert.equal(await page.locator('img, b').count(), 0, `${state}: a name stays text`)
    await shoot(page, `${tag}-${state}`)
    // A browser without JavaScript cannot run axe-core.
    if (state.endsWith('without-script')) await assertFits(page)
    else await assertStateAccessible(page)
  }

describe('the public pages in every language', { skip }, () => {
  let pseudo: Visitor
  before(async () => {
    ;(LANGUAGES as Language[]).push(PSEUDO)
    pseudo = await visitor('qps')
  })
  after(async () => {
    ;(LANGUAGES as Language[]).pop()
    await pseudo?.close()
  })

  test('pages with scripts have no text outside the catalogue', async (t) => {
    await walkScripted({ visit: pseudo, name: '42', look: spy, t })
    assert.deepEqual(pseudo.messages, [])
  })

  test('pages with forms have no text outside the catalogue', async (t) => {
    await walkForms({ visit: pseudo, name: '42', look: spy, t })
    assert.deepEqual(pseudo.messages, [])
  })

  for (const [language, tag, accepted, name] of [
    ['German', 'de', 'de-AT, en;q=0.5', HOSTILE],
    ['English', 'en', 'en-US', 'Maria-Magdalena Oberhuber'],
  ] as const)
    describe(`${language} pages`, { skip: tag === 'en' && SCREENSHOTS === undefined }, () => {
      let visit: Visitor
      before(async () => void (visit = await visitor(accepted)))
      after(() => visit?.close())

      for (const [pages, walk] of [
        ['scripts', walkScripted],
        ['forms', walkForms],
      ] as const)
        test(`with ${pages} fit small phones and are accessible`, async (t) => {
          await walk({ visit, name, look: inLanguage(tag), t })
          assert.deepEqual(visit.messages, [])
        })
    })
})
