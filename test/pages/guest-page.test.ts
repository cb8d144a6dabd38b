/**
 * The guest page in a real browser, against a site that serves it as the account server does.
 * `UPDATE_SCREENSHOTS=1 node --test --test-global-setup=test/setup.ts
 * test/pages/guest-page.test.ts` makes its screenshot.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Page } from 'playwright-core'
import { windowOf } from '../../src/crypto/code.ts'
import {
  assertAccessible,
  assertFits,
  keepsNothing,
  MINUTE,
  onDemand,
  readable,
  saveScreenshot,
  skip,
  T0,
  visitor,
  type Visitor,
} from './browser.ts'
import { HOSTILE, HOSTILE_NAMES } from './hostile-names.ts'
import { guestOn } from './guests.ts'
import { startSite, type Site } from './site.ts'

let visit: Visitor
let site: Site
before(async () => {
  if (skip) return
  ;[visit, site] = await Promise.all([visitor(), startSite(T0)])
})
after(async () => {
  await visit?.close()
  await site?.close()
})

const W0 = windowOf(T0)

/** Creates a guest code on the site, and the words of both sides by src/crypto. */
const newGuest = (ownerName?: string, guestName?: string) => guestOn(site, ownerName, guestName)

/** Waits until the page asks who called. */
const asked = (page: Page) => page.locator('#who').waitFor()

/** Chooses that the guest calls; returns the words on the page, with the window of the words. */
async function shown(page: Page): Promise<{ words: string; window: number }> {
  await page.click('#calling')
  return ownWords(page)
}

async function ownWords(page: Page): Promise<{ words: string; window: number }> {
  const words = page.locator('#words[data-window]')
  await words.waitFor()
  const [text, window] = [await words.textContent(), await words.getAttribute('data-window')]
  return { words: (text ?? '').trim(), window: Number(window) }
}

async function check(page: Page, words: string): Promise<string | null> {
  await page.fill('#heard', words)
  await page.press('#heard', 'Enter')
  await page.locator('#verdict[data-verdict]').waitFor()
  return page.locator('#verdict').getAttribute('data-verdict')
}

/** Returns the text of the verdict in one line. */
const verdict = async (page: Page) => (await page.innerText('#verdict')).replaceAll('\n', ' ')

/** Asserts that none of the guest's words around this minute is in the document. */
async function assertHidden(page: Page, guest: { own: (window: number) => string }) {
  const html = (await page.content()).replaceAll(/<[^>]*>/g, '')
  for (const window of [W0 - 1, W0, W0 + 1, W0 + 2]) assert.ok(!html.includes(guest.own(window)))
}

describe('the guest page', { skip }, () => {
  it('asks who called, and has no words before the answer', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    await asked(page)
    assert.match(await page.innerText('.lead'), /Ann Ode on 127\.0\.0\.1:\d+/)
    await page.clock.runFor(MINUTE)
    await assertHidden(page, guest)
    assert.ok(!(await page.locator('#steps').isVisible()))
  })

  it('called: shows the own words only after those of the caller, then hides them', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    await page.click('#called')
    assert.equal(await page.evaluate('document.activeElement.id'), 'heard')
    assert.match(await page.innerText('#theirs'), /Do not say yours yet/)
    for (const wrong of ['apple apple apple', newGuest().theirs(W0), guest.own(W0)]) {
      await check(page, wrong)
      await page.clock.runFor(1000)
      await assertHidden(page, guest)
    }
    assert.equal(await check(page, guest.theirs(W0)), 'theirs')
    assert.equal(await verdict(page), 'It is Ann Ode. Now say yours:')
    assert.deepEqual(await ownWords(page), { words: guest.own(W0), window: W0 })
    assert.equal(await page.evaluate('document.activeElement.id'), 'verdict')
    assert.ok(!(await page.locator('#check').isVisible()))
    // They stay for one whole minute after the one of the check.
    await page.clock.runFor(MINUTE)
    assert.equal((await ownWords(page)).window, W0 + 1)
    await page.clock.runFor(MINUTE)
    await asked(page)
    await assertHidden(page, guest)
    assert.match(await page.innerText('#notice'), /words of Ann Ode were right/)
  })

  it('calling: shows the own words, then accepts those of the other side', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    assert.deepEqual(await shown(page), { words: guest.own(W0), window: W0 })
    assert.equal(await page.evaluate('document.activeElement.id'), 'say')
    assert.ok(
      await page.evaluate(
        'mine.compareDocumentPosition(theirs) & Node.DOCUMENT_POSITION_FOLLOWING',
      ),
    )
    assert.equal(await check(page, guest.theirs(W0)), 'theirs')
    assert.equal(await verdict(page), 'It is Ann Ode. You can talk.')
    await assertHidden(page, guest)
    await page.click('#again')
    await asked(page)
    assert.equal(await page.evaluate('document.activeElement.id'), 'who-called')
  })

  it('shows the words of src/crypto for its window, and the next ones after the minute', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    assert.deepEqual(await shown(page), { words: guest.own(W0), window: W0 })
    assert.equal(await page.locator('#seconds').textContent(), '48 seconds')
    const time = `new Date(${(W0 + 2) * MINUTE}).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })`
    assert.equal(await page.locator('#until').textContent(), await page.evaluate(time))
    assert.equal(await page.locator('#words').getAttribute('aria-live'), 'polite')
    await page.clock.runFor(MINUTE)
    await page.locator(`#words[data-window="${W0 + 1}"]`).waitFor()
    assert.deepEqual(await ownWords(page), { words: guest.own(W0 + 1), window: W0 + 1 })
  })

  it('shows the recipient of the code before the words, also after a reload', async () => {
    const guest = newGuest('Ann Ode', 'Maria Muster')
    await using page = await visit.open(guest.link)
    await asked(page)
    assert.equal(await page.locator('#made-for').innerText(), 'Made for Maria Muster.')
    assert.ok(await page.locator('#made-for').isVisible())
    await page.reload()
    await asked(page)
    assert.equal(await page.locator('#made-for').innerText(), 'Made for Maria Muster.')
    assert.ok(!site.requests.some((line) => line.includes(guest.fragment)))
    const forNobody = newGuest()
    await page.goto(forNobody.link)
    await asked(page)
    assert.equal(await page.locator('#made-for').count(), 0)
  })

  for (const mode of ['called', 'calling'] as const)
    it(`${mode}: judges the words of the other side`, async () => {
      const guest = newGuest()
      await using page = await visit.open(guest.link)
      await page.click(`#${mode}`)
      const stranger = newGuest()
      for (const [words, kind, sentence] of [
        ['', 'count', /three words that you hear/],
        [guest.theirs(W0).split(' ').slice(1).join(' '), 'count', /Those are 2 words/],
        [stranger.theirs(W0), 'wrong', /not the words of Ann Ode\. Do not trust this call/],
        [guest.theirs(W0 - 2), 'wrong', /not the words/],
        [guest.own(W0), 'own', /your own words\. A person who repeats them proves nothing/],
        [guest.theirs(W0).toUpperCase(), 'theirs', /It is Ann Ode/],
        [guest.theirs(W0), 'used', /were used before/],
        [guest.theirs(W0 - 1), 'theirs', /It is Ann Ode/],
      ] as const) {
        if (!(await page.locator('#check').isVisible())) {
          await page.click('#again')
          await page.click(`#${mode}`)
        }
        assert.equal(await check(page, words), kind, words)
        assert.match(await verdict(page), sentence)
      }
      // A reload keeps the record that they were used.
      await page.reload()
      await page.click(`#${mode}`)
      assert.equal(await check(page, guest.theirs(W0)), 'used')
    })

  it('removes a verdict as soon as other words are typed', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    await page.click('#called')
    assert.equal(await check(page, newGuest().theirs(W0)), 'wrong')
    await page.locator('#heard').pressSequentially('m')
    assert.equal(await page.locator('#verdict').textContent(), '')
  })

  it('names an unknown word and inserts the chosen suggestion, by keyboard alone', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    await page.click('#called')
    const [first = '', ...rest] = guest.theirs(W0).split(' ')
    assert.equal(await check(page, `${first}x ${rest.join(' ')}`), 'unknown')
    assert.ok((await page.locator('#verdict').textContent())?.includes(`“${first}x”`))
    const suggestion = page.locator('#suggestions button', { hasText: new RegExp(`^${first}$`) })
    await suggestion.focus()
    await page.keyboard.press('Enter')
    assert.equal(await page.inputValue('#heard'), guest.theirs(W0))
    assert.equal(await page.evaluate('document.activeElement.id'), 'heard')
    assert.equal(await check(page, await page.inputValue('#heard')), 'theirs')
  })

  it('without JavaScript: names what it needs, and shows no words and no verdict', async () => {
    const guest = newGuest()
    await using page = await visit.openWithoutScript(guest.link)
    assert.ok(await page.locator('#needs-script').isVisible())
    assert.match(await page.innerText('#needs-script'), /needs JavaScript/)
    for (const part of ['#who', '#steps', '#device'])
      assert.ok(!(await page.locator(part).isVisible()), part)
  })

  it('names what it needs if its script cannot be loaded', async () => {
    await using page = await visit.open(`${site.origin}/health`, null)
    await page.route('**/guest.js', (route) => route.fulfill({ status: 503, body: '' }))
    await page.goto(newGuest().link)
    await page.locator('#needs-script').waitFor({ state: 'visible' })
  })

  it('removes the secret from the address, stores it unreadable, and works after a reload', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link, null)
    await shown(page)
    assert.equal(page.url(), guest.plain)
    const { text, key } = await readable(page, guest.id)
    assert.ok(text.includes(guest.plain), 'the addresses are among what is searched')
    const forms = [
      guest.fragment,
      Buffer.from(guest.secret).toString('hex'),
      String([...guest.secret]),
    ]
    for (const form of forms) assert.ok(!text.includes(form))
    assert.deepEqual(key, { kind: 'CryptoKey', extractable: false, exported: false })
    assert.ok(!site.requests.some((line) => line.includes(guest.fragment)))

    await page.reload()
    assert.equal((await shown(page)).words, guest.own(W0))
    await page.goto(`${site.origin}/health`)
    await page.goBack()
    assert.equal(page.url(), guest.plain)
    assert.equal((await shown(page)).words, guest.own(W0))
  })

  it('works in a browser that stores nothing, and mentions that', async () => {
    const guest = newGuest()
    await using page = await visit.open(`${site.origin}/health`)
    await page.addInitScript(`indexedDB.open = () => { throw new Error('refused') }`)
    await page.goto(guest.link)
    assert.equal((await shown(page)).words, guest.own(W0))
    assert.equal(page.url(), guest.plain)
    assert.match((await page.textContent('#kept')) ?? '', /does not store the code/)
  })

  it('deletes the secret on request, here and in other tabs, and accepts the link again', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    await using other = await visit.open(guest.plain)
    await shown(other)
    await page.bringToFront()
    await page.click('#forget')
    await page.locator('#notice', { hasText: 'The code was removed' }).waitFor()
    assert.equal(await page.locator('#words').textContent(), '')
    await assertHidden(page, guest)
    await other.evaluate(`document.dispatchEvent(new Event('visibilitychange'))`)
    await other.locator('#notice', { hasText: 'does not have your code' }).waitFor()
    assert.ok(!(await other.locator('#steps').isVisible()))
    await page.reload()
    await page.locator('#notice', { hasText: 'open the full link' }).waitFor()

    // The same document: only the fragment changes.
    await page.evaluate(`location.assign(${JSON.stringify(guest.link)})`)
    assert.equal((await shown(page)).words, guest.own(W0))
    assert.equal(page.url(), guest.plain)
  })

  it('asks for the full link if the secret is missing', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.plain)
    for (const [fragment, text] of [
      ['', 'does not have your code'],
      ['#AAAA', 'The link is not complete'],
      ['#%00!', 'The link is not complete'],
    ] as const) {
      await page.goto(`${guest.plain}?${fragment.length}${fragment}`)
      await page.locator('#notice', { hasText: text }).waitFor()
      await page.waitForFunction(`!location.href.includes('#')`)
      assert.ok(!(await page.locator('#who').isVisible()))
    }
    assert.ok(!site.posts.some((line) => line.includes(guest.id)))
  })

  it('reports its opening once, with its own origin', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    await shown(page)
    await page.clock.runFor(MINUTE)
    assert.deepEqual(
      site.posts.filter((line) => line.includes(guest.id)),
      [`${site.origin} ${guest.path}/opened`],
    )
  })

  for (const [aheadMs, warning] of [
    [25_000, null],
    [90_000, /90 seconds ahead of/],
    [-3 * MINUTE, /3 minutes behind/],
  ] as const) {
    it(`uses the server's clock with its own ${aheadMs / 1000} s off`, async () => {
      const guest = newGuest()
      await using page = await visit.open(guest.link, aheadMs)
      assert.deepEqual(await shown(page), { words: guest.own(W0), window: W0 })
      const text = (await page.locator('#clock').textContent()) ?? ''
      if (warning === null) assert.equal(text, '')
      else assert.match(text, warning)
      assert.equal(await check(page, guest.theirs(W0)), 'theirs')
    })
  }

  it('shows nothing in the back/forward cache, and starts again when it comes back', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    await shown(page)
    await page.fill('#heard', 'matador')
    const turn = (type: string) =>
      page.evaluate(`dispatchEvent(new PageTransitionEvent('${type}', { persisted: true }))`)
    await turn('pagehide')
    assert.equal(await page.locator('#words').textContent(), '')
    assert.equal(await page.inputValue('#heard'), '')
    await turn('pageshow')
    assert.equal((await shown(page)).words, guest.own(W0))
  })

  it('shows no words of an ended code, and deletes its key', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    // The page itself navigates to its address without the secret, which would cancel the next
    // navigation.
    await shown(page)
    for (const [state, status, title] of [
      ['revoked', 410, 'withdrawn'],
      ['expired', 410, 'expired'],
      ['unknown', 404, 'no such code'],
    ] as const) {
      site.guests.set(guest.id, {
        accountId: guest.accountId,
        ownerName: 'Ann Ode',
        guestName: null,
        expiresAt: null,
        state: 'active',
      })
      await page.goto(`${guest.plain}?before=${state}#${guest.fragment}`)
      await shown(page)
      site.guests.get(guest.id)!.state = state
      const answer = await page.goto(`${guest.plain}?after=${state}#${guest.fragment}`)
      assert.equal(answer?.status(), status)
      assert.ok((await page.locator('h1').textContent())?.includes(title))
      assert.equal(await page.locator('#words').count(), 0)
      await page.waitForFunction(`!location.href.includes('#')`)
      await keepsNothing(page, guest.id)
    }
  })

  it('keeps HTML in a name text', async () => {
    const guest = newGuest(HOSTILE, HOSTILE)
    await using page = await visit.open(guest.link)
    await shown(page)
    assert.equal(await page.locator('h1 bdi').textContent(), HOSTILE)
    assert.equal(await page.locator('#made-for bdi').textContent(), HOSTILE)
    await check(page, guest.theirs(W0))
    assert.equal(await page.locator('#verdict bdi').textContent(), HOSTILE)
    assert.equal(await page.locator('img').count(), 0)
    assert.equal(await page.title(), `Calls with ${HOSTILE} – Countersign`)
  })

  it('stays empty in a frame', async () => {
    const guest = newGuest()
    await using page = await visit.open(`${site.origin}/health`)
    assert.deepEqual(visit.messages, [])
    // The browser logs the reason, which is expected in this test.
    const remark = page.waitForEvent('console', (message) =>
      message.text().includes('frame-ancestors'),
    )
    await page.goto(`${site.origin}/frame/${guest.id}`)
    await remark
    assert.equal(visit.messages.splice(0).length, 1)
    const frame = page.frames()[1]!
    assert.ok(!(await frame.content()).includes('data-account'))
    assert.equal(await frame.locator('#words').count(), 0)
  })

  it('makes its screenshot', onDemand, async () => {
    const guest = newGuest('Alice')
    await using page = await visit.open(guest.link)
    await page.setViewportSize({ width: 720, height: 680 })
    await page.click('#called')
    await check(page, guest.theirs(W0))
    await ownWords(page)
    await saveScreenshot(page, 'guest-page.png')
  })

  it('has no serious fault in any state, light and dark', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link, null)
    await asked(page)
    await assertAccessible(page)
    const words = { wrong: newGuest().theirs(W0), own: guest.own(W0), theirs: guest.theirs(W0) }
    for (const [mode, said, kind] of [
      ['called', words.theirs, 'theirs'],
      ['called', words.theirs, 'used'],
      ['called', words.wrong, 'wrong'],
      ['calling', words.own, 'own'],
      ['calling', 'apple', 'unknown'],
      ['calling', guest.theirs(W0 - 1), 'theirs'],
    ] as const) {
      if (!(await page.locator('#who').isVisible())) await page.click('#again')
      await page.click(`#${mode}`)
      assert.equal(await check(page, said), kind)
      await assertAccessible(page)
    }
    await page.goto(newGuest().plain)
    await page.locator('#notice:not(:empty)').waitFor()
    await assertAccessible(page)
  })

  for (const [kind, name] of Object.entries({ ...HOSTILE_NAMES, long: 'W'.repeat(100) }))
    it(`is not wider than a small phone in any state, with a name of this kind: ${kind}`, async () => {
      const guest = newGuest(name, name)
      await using page = await visit.open(guest.link)
      await asked(page)
      await assertFits(page)
      await page.click('#calling')
      await ownWords(page)
      await check(page, 'matadorx carload recede')
      await assertFits(page)
      await check(page, newGuest().theirs(W0))
      await assertFits(page)
      await check(page, guest.theirs(W0))
      await assertFits(page)
    })
})

// Alone, because it moves the server’s clock.
describe('the guest page after a sleep', { skip }, () => {
  it('fetches the server’s time after a sleep', async () => {
    const guest = newGuest()
    await using page = await visit.open(guest.link)
    await shown(page)
    // The device’s clock jumps, the monotonic one stood still, and the server’s time is ten
    // minutes later.
    site.now = T0 + 10 * MINUTE
    await page.evaluate(
      `{ const now = Date.now.bind(Date); Date.now = () => now() + ${10 * MINUTE} }`,
    )
    // Checked against the right minute at once, before the next tick.
    assert.equal(await check(page, guest.theirs(W0 + 10)), 'theirs')
    await page.click('#again')
    await page.clock.runFor(2000)
    assert.deepEqual(await shown(page), { words: guest.own(W0 + 10), window: W0 + 10 })
  })
})

describe('all pages of this file', { skip }, () => {
  it('logged nothing, threw nothing and kept to their policy', () => {
    assert.deepEqual(visit.messages, [])
  })
})
