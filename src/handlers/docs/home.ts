/**
 * The start page at the daemon's address without a path: the console for browsers, and a text for
 * curl. Both reveal nothing about the account.
 */
import type { Content } from '../../api/route.ts'
import { headOf, html } from '../../service/pages/document.ts'
import { consolePageContent } from '../console/files.ts'
import type { DocsHandlers } from '../context.ts'

const WHAT =
  'This is the daemon of Countersign. It manages an account on this machine, for programs that have a token.'
const DOCS = '/api/v1/docs'
const OPEN = 'countersignd open'
const NEW_TOKEN = 'countersignd token create --name me --scope read'

const POLICY = "default-src 'none'; img-src data:; base-uri 'none'; frame-ancestors 'none'"

/** Returns the page of a daemon that has no console, or in which it is not built. */
const page = (hasConsole: boolean): Content => ({
  type: 'text/html; charset=utf-8',
  headers: { 'Content-Security-Policy': POLICY },
  body: html`<!doctype html>
    <html lang="en">
      <head>
        ${headOf('Countersign')}
      </head>
      <body>
        <main>
          <h1>Countersign</h1>
          <p>${WHAT}</p>
          ${hasConsole ? html`<p>To look at the account here, run <code>${OPEN}</code>.</p>` : ''}
          <p><a href="${DOCS}">Documentation of the API</a></p>
          <p>To create a token, run <code>${NEW_TOKEN}</code>.</p>
        </main>
      </body>
    </html> `.toString(),
})

const text = (address: string, hasConsole: boolean): Content => ({
  type: 'text/plain; charset=utf-8',
  body: `${WHAT}
${hasConsole ? `\n  In a browser   ${OPEN}` : ''}
  Documentation  ${address}${DOCS}
  A token        ${NEW_TOKEN}
  First request  curl -H "Authorization: Bearer <token>" ${address}/api/v1/status
`,
})

export const home: DocsHandlers['home'] = {
  read: async (_input, context) => {
    const { hasConsole } = context.home
    if (!context.accept.includes('text/html'))
      return text(`http://${context.header('host') ?? 'localhost'}`, hasConsole)
    return (hasConsole ? consolePageContent() : null) ?? page(hasConsole)
  },
}
