/**
 * The page of a guest code. The server has neither the secret nor the words. The page's script
 * reads the secret from the link's fragment, which browsers do not send to the server.
 */
import type { Content } from '../../api/route.ts'
import { ID_PREFIX, isId } from '../../crypto/encoding/id.ts'
import { displayedName } from '../../crypto/encoding/quoted.ts'
import { type Language, messageText, timeText } from '../../languages/languages.ts'
import { hostOf } from '../mail/quoting.ts'
import {
  document,
  html,
  type Html,
  messageHtml,
  needsScript,
  personName,
  scriptMessages,
} from './document.ts'

export type GuestPage = {
  /** The id in the path. If the code is unknown, it may be any text. */
  id: string
  accountId: string
  ownerName: string
  /**
   * The name of the external member for whom the code was made; null if there is none. It is shown
   * only while the code is active.
   */
  guestName: string | null
  /** When the code expires, in Unix milliseconds; null if it does not expire. */
  expiresAt: number | null
  /** The base URL of this server. */
  server: string
  state: 'active' | 'revoked' | 'expired' | 'unknown'
  /** The server's time in Unix milliseconds, by which the page counts the minutes. */
  now: number
  language: Language
}

/** What the page needs of a code that the server does not know. */
export const UNKNOWN_GUEST = {
  accountId: '',
  ownerName: '',
  guestName: null,
  expiresAt: null,
  state: 'unknown',
} as const

/**
 * Returns the page of a guest code in any state. The status is 404 for an unknown code and 410 for
 * a revoked or expired code; these pages show no words. Names are escaped.
 *
 * The page of an active code contains the texts for both kinds of call. The style sheet shows those
 * of the kind that the guest chose (`data-mode`).
 */
export function guestPage(of: GuestPage): Content {
  const { language, server } = of
  const { guest: texts } = language.messages
  const page = { language, server, script: '/assets/guest.js' } as const
  if (of.state === 'active') {
    const owner = displayedName(of.ownerName)
    const title = messageText(language, texts.title, { owner })
    return document({ ...page, title, main: active(of) })
  }
  const { title, kind, lines, status } = ended(of)
  // The script still runs: it removes the secret from the address bar and deletes the stored key.
  const id = isId(ID_PREFIX.guest, of.id) ? html`data-id="${of.id}"` : ''
  const main = html`<main class="page" ${id} data-state="${of.state}">
    <p class="eyebrow">${texts.eyebrow}</p>
    <h1>${title}</h1>
    <section class="result" data-kind="${kind}">${lines}</section>
  </main>`
  return document({ ...page, title, main, status })
}

type Ended = { title: string; kind: 'bad' | 'warn'; lines: Html[]; status: number }

function ended({ language, ownerName, state }: GuestPage): Ended {
  const { guest: texts } = language.messages
  const owner = personName(ownerName)
  const trust = html`<h2>${texts.doNotTrust}</h2>`
  const remedy = html`<p>${messageHtml(language, texts.remedy, { owner })}</p>`
  if (state === 'revoked') {
    const line = html`<p>${messageHtml(language, texts.withdrawn, { owner })}</p>`
    const lines = [trust, line, remedy]
    return { title: texts.withdrawnTitle, kind: 'bad', lines, status: 410 }
  }
  if (state === 'expired') {
    const line = html`<p>${messageHtml(language, texts.expired, { owner })}</p>`
    return { title: texts.expiredTitle, kind: 'bad', lines: [trust, line, remedy], status: 410 }
  }
  const lines = [html`<h2>${texts.cannotCheck}</h2>`, html`<p>${texts.unknown}</p>`]
  return { title: texts.unknownTitle, kind: 'warn', lines, status: 404 }
}

/** Returns a time as HTML, in UTC. The page's script replaces it by the time on the device. */
function utc(language: Language, unixMs: number): Html {
  const text = timeText({ language, timeZone: 'UTC' }, unixMs)
  return html`<time id="expiry" datetime="${new Date(unixMs).toISOString()}">${text}</time>`
}

function about({ language, ...of }: GuestPage): Html {
  const { guest: texts } = language.messages
  const owner = personName(of.ownerName)
  return html`<p class="lead">
    ${messageHtml(language, texts.about, { owner, host: hostOf(of.server) })}
    ${
      of.guestName === null
        ? ''
        : html`<span id="made-for"
            >${messageHtml(language, texts.madeFor, { guest: personName(of.guestName) })}</span
          >`
    }
    ${
      of.expiresAt === null
        ? ''
        : messageHtml(language, texts.worksUntil, { time: utc(language, of.expiresAt) })
    }
  </p>`
}

const active = (of: GuestPage): Html => {
  const { language } = of
  const { guest: texts, guestScript } = language.messages
  const owner = personName(of.ownerName)
  const until = html`<span id="until"></span>`
  const seconds = html`<span id="seconds"></span>`
  return html`<main
    class="page"
    data-id="${of.id}"
    data-account="${of.accountId}"
    data-owner="${displayedName(of.ownerName)}"
    data-state="active"
    data-now="${of.now}"
    ${scriptMessages(language, guestScript)}
  >
    <p class="eyebrow">${texts.eyebrow}</p>
    <h1>${messageHtml(language, texts.title, { owner })}</h1>
    ${about(of)} ${needsScript(language)}
    <p class="notice" id="notice" role="status" tabindex="-1"></p>
    <p class="notice" id="clock" data-kind="warn" role="status"></p>
    <section class="card" id="who" aria-labelledby="who-called" hidden>
      <h2 id="who-called" tabindex="-1">${texts.whoCalled}</h2>
      <div class="choices">
        <button id="called" type="button">
          <strong>${texts.called}</strong>
          <span>${texts.calledSteps}</span>
        </button>
        <button id="calling" type="button">
          <strong>${texts.calling}</strong>
          <span>${texts.callingSteps}</span>
        </button>
      </div>
    </section>
    <div id="steps" hidden>
      <p class="verdict" id="verdict" role="status" tabindex="-1"></p>
      <div
        class="suggestions"
        id="suggestions"
        role="group"
        aria-label="${texts.similarWords}"
        hidden
      ></div>
      <section class="card" id="theirs" aria-labelledby="listen">
        <h2 id="listen">${texts.checkTheirs}</h2>
        <p class="called">${texts.askCaller} <strong>${texts.notYoursYet}</strong></p>
        <p class="calling">${texts.askTheirs}</p>
        <form id="check" novalidate>
          <label for="heard">${texts.heard}</label>
          <div class="field">
            <input
              id="heard"
              type="text"
              lang="en"
              translate="no"
              maxlength="200"
              autocomplete="off"
              autocapitalize="none"
              autocorrect="off"
              spellcheck="false"
              enterkeyhint="go"
              aria-describedby="verdict"
            />
            <button type="submit">${texts.check}</button>
          </div>
        </form>
      </section>
      <section class="card" id="mine" aria-labelledby="say" hidden>
        <h2 class="calling" id="say" tabindex="-1">${texts.sayYours}</h2>
        <p
          class="words"
          id="words"
          lang="en"
          translate="no"
          aria-live="polite"
          aria-atomic="true"
        ></p>
        <div class="countdown">
          <progress id="bar" max="60" value="0" aria-hidden="true"></progress>
          <p>${messageHtml(language, texts.validity, { time: until, seconds })}</p>
        </div>
      </section>
      <p><button class="quiet" id="again" type="button">${texts.startAgain}</button></p>
    </div>
    <section class="small" id="device" hidden>
      <p id="kept"></p>
      <button class="quiet" id="forget" type="button">${texts.remove}</button>
    </section>
    <details class="small">
      <summary>${texts.proof}</summary>
      <ul>
        <li>${texts.proofOfSecret}</li>
        <li>${texts.proofOnce}</li>
        <li>${texts.proofRelay}</li>
        <li>${texts.proofServer}</li>
        <li>${texts.proofLink}</li>
      </ul>
    </details>
  </main>`
}
