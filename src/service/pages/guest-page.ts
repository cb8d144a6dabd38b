/**
 * The page of a guest code. The server has neither the secret nor the words. The page's script
 * reads the secret from the link's fragment, which browsers do not send to the server.
 */
import type { Content } from '../../api/route.ts'
import { ID_PREFIX, isId } from '../../crypto/encoding/id.ts'
import { displayedName } from '../../crypto/encoding/quoted.ts'
import { hostOf } from '../mail/quoting.ts'
import { document, html, type Html, needsScript, personName } from './document.ts'

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
  const page = { script: '/assets/guest.js', server: of.server } as const
  if (of.state === 'active') {
    return document({
      ...page,
      title: `Calls with ${displayedName(of.ownerName)}`,
      main: active(of),
    })
  }
  const { title, kind, lines, status } = ended(of)
  // The script still runs: it removes the secret from the address bar and deletes the stored key.
  const id = isId(ID_PREFIX.guest, of.id) ? html`data-id="${of.id}"` : ''
  const main = html`<main class="page" ${id} data-state="${of.state}">
    <p class="eyebrow">Guest page</p>
    <h1>${title}</h1>
    <section class="result" data-kind="${kind}">${lines}</section>
  </main>`
  return document({ ...page, title, main, status })
}

type Ended = { title: string; kind: 'bad' | 'warn'; lines: Html[]; status: number }

function ended(of: GuestPage): Ended {
  const owner = personName(of.ownerName)
  const trust = html`<h2>Do not trust a caller who asks for words of this page</h2>`
  const remedy = html`<p>To get a new link, call ${owner} at a number that you already have.</p>`
  if (of.state === 'revoked') {
    const line = html`<p>${owner} withdrew this code. Its words no longer prove anything.</p>`
    const lines = [trust, line, remedy]
    return { title: 'This code was withdrawn', kind: 'bad', lines, status: 410 }
  }
  if (of.state === 'expired') {
    const line = html`<p>
      The code from ${owner} was valid for a limited time, and this time is over.
    </p>`
    return {
      title: 'This code has expired',
      kind: 'bad',
      lines: [trust, line, remedy],
      status: 410,
    }
  }
  const line = html`<p>
    The link may be incomplete or contain a typing error, or the code was deleted. Open the full
    link that you were sent, or scan the QR image again.
  </p>`
  const lines = [html`<h2>This page cannot check a call</h2>`, line]
  return { title: 'There is no such code', kind: 'warn', lines, status: 404 }
}

const UTC = { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' } as const

/** Returns a time as HTML, in UTC. */
function utc(unixMs: number): Html {
  const date = new Date(unixMs)
  return html`<time datetime="${date.toISOString()}"
    >${date.toLocaleString('en-GB', UTC)} UTC</time
  >`
}

const about = (of: GuestPage): Html =>
  html`<p class="lead">
    This is a page of ${personName(of.ownerName)} on ${hostOf(of.server)}. Three words show that a
    call is really between you two.
    ${
      of.guestName === null
        ? ''
        : html`<span id="made-for">Made for ${personName(of.guestName)}.</span>`
    }
    ${of.expiresAt === null ? '' : html`The page works until ${utc(of.expiresAt)}.`}
  </p>`

const active = (of: GuestPage): Html => {
  const owner = personName(of.ownerName)
  return html`<main
    class="page"
    data-id="${of.id}"
    data-account="${of.accountId}"
    data-owner="${displayedName(of.ownerName)}"
    data-state="active"
    data-now="${of.now}"
  >
    <p class="eyebrow">Guest page</p>
    <h1>Calls with ${owner}</h1>
    ${about(of)} ${needsScript}
    <p class="notice" id="notice" role="status" tabindex="-1"></p>
    <p class="notice" id="clock" data-kind="warn" role="status"></p>
    <section class="card" id="who" aria-labelledby="who-called" hidden>
      <h2 id="who-called" tabindex="-1">Who called?</h2>
      <div class="choices">
        <button id="called" type="button">
          <strong>They called me</strong>
          <span>You check their words first. Then this page shows yours.</span>
        </button>
        <button id="calling" type="button">
          <strong>I am calling</strong>
          <span>You say your words first. Then you check theirs.</span>
        </button>
      </div>
    </section>
    <div id="steps" hidden>
      <p class="verdict" id="verdict" role="status" tabindex="-1"></p>
      <div
        class="suggestions"
        id="suggestions"
        role="group"
        aria-label="Similar words of the list"
        hidden
      ></div>
      <section class="card" id="theirs" aria-labelledby="listen">
        <h2 id="listen">Check their words</h2>
        <p class="called">Ask the caller for three words. <strong>Do not say yours yet.</strong></p>
        <p class="calling">After you have said yours, ask for theirs.</p>
        <form id="check" novalidate>
          <label for="heard">The three words that you hear</label>
          <div class="field">
            <input
              id="heard"
              type="text"
              maxlength="200"
              autocomplete="off"
              autocapitalize="none"
              autocorrect="off"
              spellcheck="false"
              enterkeyhint="go"
              aria-describedby="verdict"
            />
            <button type="submit">Check</button>
          </div>
        </form>
      </section>
      <section class="card" id="mine" aria-labelledby="say" hidden>
        <h2 class="calling" id="say" tabindex="-1">Say your words</h2>
        <p class="words" id="words" aria-live="polite" aria-atomic="true"></p>
        <div class="countdown">
          <progress id="bar" max="60" value="0" aria-hidden="true"></progress>
          <p>
            These words hold until <span id="until"></span>. New words in
            <span id="seconds"></span>.
          </p>
        </div>
      </section>
      <p><button class="quiet" id="again" type="button">Start again</button></p>
    </div>
    <section class="small" id="device" hidden>
      <p id="kept"></p>
      <button class="quiet" id="forget" type="button">Remove this code from this device</button>
    </section>
    <details class="small">
      <summary>What the words prove, and what they do not</summary>
      <ul>
        <li>
          They prove that the other person has the secret of your link in this minute. They do not
          prove the names above: the account chose these names itself.
        </li>
        <li>
          This page accepts words only once: in the minute in which they are shown, in the minute
          before, or in the minute after.
        </li>
        <li>
          They do not stop a person who listens to your call and passes every word on while you
          talk.
        </li>
        <li>
          The secret stays in this browser. But this page comes from a server, and a dishonest
          server could send a page that reads the secret. The history of your browser may also
          contain your link.
        </li>
        <li>Anyone who has your link can see your words. Do not pass the link on.</li>
      </ul>
    </details>
  </main>`
}
