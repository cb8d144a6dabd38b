/**
 * The documents themselves: escaped values, a policy without exceptions, a page in every state.
 */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { UNSHOWABLE } from '../../src/crypto/encoding/quoted.ts'
import { ENGLISH } from '../../src/languages/languages.ts'
import { guestPage } from '../../src/service/pages/guest-page.ts'
import { escape, html } from '../../src/service/pages/document.ts'
import { stampPage } from '../../src/service/pages/site.ts'
import { HOSTILE_NAMES } from './hostile-names.ts'

const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>' onload='x`
const guest = {
  id: 'gst_1',
  accountId: 'acc_1',
  ownerName: 'Ann',
  guestName: null,
  expiresAt: null,
  server: 'https://words.example',
  now: 1767225600000,
  language: ENGLISH,
} as const
const stamp = { id: HOSTILE, now: 0, server: guest.server, language: ENGLISH } as const
/** Every text of users, as HTML. */
const hostile = { id: HOSTILE, accountId: HOSTILE, ownerName: HOSTILE, guestName: HOSTILE } as const

describe('the public documents', () => {
  const pages = [
    ...(['active', 'revoked', 'expired', 'unknown'] as const).map(
      (state) =>
        [
          `guest, ${state}`,
          guestPage({ ...guest, ...hostile, state }),
          { active: undefined, revoked: 410, expired: 410, unknown: 404 }[state],
        ] as const,
    ),
    ['stamp', stampPage({ ...stamp, known: true }), undefined],
    ['stamp, unknown', stampPage({ ...stamp, known: false }), 404],
  ] as const

  for (const [name, page, status] of pages) {
    it(`${name}: complete, escaped, nothing inline`, () => {
      const body = page.body as string
      assert.equal(page.status, status)
      assert.equal(page.type, 'text/html; charset=utf-8')
      assert.match(body, /^<!doctype html>/)
      assert.ok(!body.includes('<img') && !body.includes('alert(1)>'), 'the hostile text is text')
      assert.equal(body.match(/<script/g)?.length, 1)
      assert.match(body, /<script type="module" src="\/assets\/(guest|stamp)\.js"><\/script>/)
      assert.ok(
        !/<style|\sstyle=|<[^>]*\son[a-z]+=(?!x onerror)"/.test(body),
        'no inline style or script',
      )
      const { 'Content-Security-Policy': policy = '', 'Referrer-Policy': referrer } =
        page.headers ?? {}
      assert.equal(referrer, 'no-referrer')
      assert.ok(!policy.includes('unsafe'))
      for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'none'"]) {
        assert.ok(policy.includes(rule), rule)
      }
    })
  }

  it('names the server, and when a guest code expires', () => {
    const page = guestPage({ ...guest, expiresAt: Date.UTC(2026, 2, 5, 14), state: 'active' })
    assert.match(page.body as string, /<bdi>Ann<\/bdi> on words\.example/)
    assert.match(page.body as string, /5 March 2026 at 14:00 UTC/)
    const unlimited = guestPage({ ...guest, state: 'active' }).body as string
    assert.ok(!unlimited.includes('works until'))
  })

  for (const [kind, name] of Object.entries(HOSTILE_NAMES))
    it(`cuts and cleans a name with ${kind}`, () => {
      const body = guestPage({ ...guest, ownerName: name, guestName: name, state: 'active' })
        .body as string
      assert.ok(body.length < 12_288, `${body.length}`)
      assert.ok(!/\p{M}{5}/u.test(body))
      const names = [...body.matchAll(/<bdi>(.*?)<\/bdi>/gsu)].map(([, shown]) => shown!)
      assert.ok(names.length > 2)
      for (const shown of names) assert.doesNotMatch(shown, new RegExp(`[${UNSHOWABLE}]`, 'u'))
    })

  it('names the recipient of an active code, and not afterwards', () => {
    const named = (state: 'active' | 'revoked' | 'expired' | 'unknown') =>
      (guestPage({ ...guest, guestName: 'Maria Muster', state }).body as string).includes('Maria')
    assert.equal(named('active'), true)
    for (const state of ['revoked', 'expired', 'unknown'] as const)
      assert.equal(named(state), false)
    const forNobody = guestPage({ ...guest, state: 'active' }).body as string
    assert.ok(!forNobody.includes('Made for'))
  })

  it('does not name an owner for an unknown code', () => {
    const page = guestPage({ ...guest, ownerName: 'Somebody', state: 'unknown' })
    assert.ok(!(page.body as string).includes('Somebody'))
  })
})

describe('html', () => {
  it('escapes inserted values, once', () => {
    assert.equal(escape(`<a b="c" d='e'>&`), '&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;')
    const inner = html`<b>${'<&>'}</b>`
    assert.equal(
      String(html`<p>${inner}${[inner, inner]}${7}</p>`),
      `<p>${inner.toString()}${inner.toString()}\n${inner.toString()}7</p>`,
    )
  })

  it('accepts only its own HTML', () => {
    const forged = { toString: () => '<b>' } as unknown as string
    assert.throws(() => String(html`${forged}`))
  })
})
