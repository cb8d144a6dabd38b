/**
 * The start page of an account server, for a person who opens its address without a path: what this
 * is, and what to do next. It is the same for everyone.
 */
import type { Content } from '../../api/route.ts'
import type { Language } from '../../languages/languages.ts'
import { hostOf } from '../mail/quoting.ts'
import { document, html, messageHtml, STAMP_COMMAND } from './document.ts'

/**
 * Returns the start page.
 * @param server the base URL of this server
 */
export function homePage(language: Language, server: string): Content {
  const { home: texts } = language.messages
  const host = html`<strong translate="no">${hostOf(server)}</strong>`
  const program = html`<code translate="no">countersignd</code>`
  return document({
    language,
    server,
    title: texts.title,
    main: html`<main class="page">
      <h1>${texts.title}</h1>
      <p class="lead">${messageHtml(language, texts.about, { host })}</p>
      <section class="card">
        <h2>${texts.link}</h2>
        <p>${texts.linkText}</p>
      </section>
      <section class="card">
        <h2>${texts.call}</h2>
        <p>${texts.callText}</p>
      </section>
      <section class="card">
        <h2>${texts.stamp}</h2>
        <p>${texts.stampPage}</p>
        <p>${texts.stampFile}</p>
        <p>${STAMP_COMMAND}</p>
      </section>
      <section class="card">
        <h2>${texts.invited}</h2>
        <p>${messageHtml(language, texts.invitedText, { program })}</p>
        <p>
          <code translate="no"
            >SVC_BACKEND_URL=${server} countersignd login --email you@example.org</code
          >
        </p>
      </section>
    </main>`,
  })
}
