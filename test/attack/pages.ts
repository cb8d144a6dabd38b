/**
 * The public pages: HTML in users’ texts stays text, and headers restrict what the page may do.
 */
import type { RawAnswer } from '../http/raw.ts'
import { type Attack, CLOSE, FORM_TYPE, askedBy, requestTo } from './attack.ts'
import { type Target, isLinked } from './routes.ts'
import { HTML } from './populated.ts'

const isPage = (target: Target) =>
  isLinked(target) && String(target.route?.media).includes('text/html')

/** Returns whether a route answers a form with a page in each case. */
const isForm = ({ listener, route, need }: Target) =>
  listener === 'account' &&
  need === 'none' &&
  route?.form === true &&
  String(route.media).includes('text/html')

/** Returns the faults of a page for a browser. */
export function pageFault({ headers, body }: RawAnswer): string | null {
  const policy = headers['content-security-policy'] ?? ''
  const scripts = /script-src ([^;]*)/.exec(policy)?.[1] ?? ''
  const faults: [string, boolean][] = [
    ['it has no default-src', !policy.includes("default-src 'none'")],
    ['it may be framed', !policy.includes("frame-ancestors 'none'")],
    ['it takes inline scripts', /unsafe|\*|data:|https?:/.test(scripts)],
    // A form must send its origin: to its own origin only.
    [
      'it sends the referrer',
      !/^(no-referrer|same-origin)$/.test(headers['referrer-policy'] ?? ''),
    ],
    ['its type is guessed', headers['x-content-type-options'] !== 'nosniff'],
    ['it is not a page', headers['content-type'] !== 'text/html; charset=utf-8'],
    [
      'it contains HTML of a user',
      /<img src=x|<script(?![^>]* src=| type="importmap")/i.test(body),
    ],
    ['it has a script inline', /\son\w+="(?!.*alert)|javascript:/i.test(body)],
  ]
  return faults.find(([, is]) => is)?.[0] ?? null
}

const page = (name: string, on: Attack['on'], shots: Attack['shots']): Attack => ({
  row: 'Public pages',
  name,
  on,
  shots,
})

/** The header of a browser: other clients get the first page as plain text. */
const AS_BROWSER = 'Accept: text/html'
const COOKIES = `Cookie: theme=${encodeURIComponent(HTML)}`
const FIELDS = ['display_name', 'email', 'message']
const WRITTEN: readonly string[] = [
  HTML,
  `"><script>alert(1)</script>`,
  `'"</textarea><img src=x onerror=alert(1)>`,
  `</title><svg onload=alert(1)>`,
]

export const pages: readonly Attack[] = [
  page('with HTML in all that the account holds', isPage, async (target, scene) => [
    {
      bytes: requestTo(target, scene, { lines: [AS_BROWSER, COOKIES] }),
      want: /^(200|404|410)$/,
      check: pageFault,
    },
  ]),
  page('with HTML in the query', isPage, (target, scene) =>
    WRITTEN.map((text) => ({
      bytes: requestTo(target, scene, {
        path: `${target.path}?q=${encodeURIComponent(text)}`,
        lines: [AS_BROWSER],
      }),
      want: /^(200|404|410)$/,
      check: pageFault,
    })),
  ),
  page('of what there is not, with HTML in its name', isPage, (target, scene) => {
    const name = "(onerror=alert('x'))"
    const path = target.pattern.replace(/{\w+}/, name)
    return [
      {
        bytes: requestTo(target, scene, { path, lines: [AS_BROWSER] }),
        want: /^(200|404|410)$/,
        check: pageFault,
      },
    ]
  }),
  page('answering a form with HTML in every field', isForm, (target, scene) =>
    WRITTEN.map((text) => {
      // Without a mailbox, the server returns the form with its input.
      const body = new URLSearchParams(
        Object.fromEntries(FIELDS.map((field) => [field, text])),
      ).toString()
      const lines = [`Origin: http://${scene.at.account.host}`, FORM_TYPE, CLOSE]
      return {
        bytes: requestTo(target, scene, { lines, body }),
        want: /^(200|4\d\d)$/,
        alone: true as const,
        check: pageFault,
      }
    }),
  ),
  ...['https://evil.example', 'null', 'http://localhost:3000'].map((origin): Attack => ({
    row: 'Open-link form',
    name: `sent by a page of ${origin}`,
    on: isForm,
    shots: async (target, scene) => {
      const body = new URLSearchParams({
        display_name: 'Mallory',
        email: 'mallory@example.org',
        message: 'x',
      })
      const lines = [`Origin: ${origin}`, FORM_TYPE, CLOSE]
      const bytes = await askedBy(scene.caller('account', 'nobody'), target, scene, {
        lines,
        body: body.toString(),
      })
      return [{ bytes, want: /^403 origin_not_allowed$/, alone: true }]
    },
  })),
]
