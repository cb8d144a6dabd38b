/**
 * The page of a guest code. The server has neither the secret nor the words. The page's script
 * reads the secret from the link's fragment, which browsers do not send to the server.
 */
import type { Content } from '../../api/route.ts'
import { ID_PREFIX, isId } from '../../crypto/encoding/id.ts'
import { document, html, type Html, needsScript } from './document.ts'

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
  state: 'active' | 'revoked' | 'expired' | 'unknown'
  /** The server's time in Unix milliseconds, by which the page counts the minutes. */
  now: number
}

/**
 * Returns the page of a guest code in any state. The status is 404 for an unknown code and 410 for
 * a revoked or expired code; these pages show no words. Names are escaped.
 */
export function guestPage(of: GuestPage): Content {
  const script = '/assets/guest.js'
  if (of.state === 'active') {
    return document({ title: `Calls with ${of.ownerName}`, script, main: active(of) })
  }
  const { title, lines, status } = ended(of)
  // The script still runs: it removes the secret from the address bar and deletes the stored key.
  const id = isId(ID_PREFIX.guest, of.id) ? html`data-id="${of.id}"` : ''
  const main = html`<main class="page narrow" ${id} data-state="${of.state}">
    <p class="eyebrow">Guest code</p>
    <h1>${title}</h1>
    <section class="card">${lines}</section>
  </main>`
  return document({ title, script, main, status })
}

function ended(of: GuestPage): { title: string; lines: Html[]; status: number } {
  const owner = html`<bdi>${of.ownerName}</bdi>`
  const trust = html`<p>
    If a caller asks you for words of this code, do not trust the call. Ask for a new link in a way
    that you already trust, for example by calling a number that you already have.
  </p>`
  if (of.state === 'revoked') {
    const line = html`<p>${owner} withdrew this code. Its words no longer prove anything.</p>`
    return { title: 'This code was withdrawn', lines: [line, trust], status: 410 }
  }
  if (of.state === 'expired') {
    const line = html`<p>
      The code from ${owner} was valid for a limited time, and this time is over.
    </p>`
    return { title: 'This code has expired', lines: [line, trust], status: 410 }
  }
  const line = html`<p>
    The link may be incomplete or contain a typing error, or the code was deleted. Open the full
    link that you were sent, or scan the QR image again.
  </p>`
  return { title: 'There is no such code', lines: [line], status: 404 }
}

const madeFor = ({ guestName }: GuestPage): Html | string =>
  guestName === null ? '' : html`<p id="made-for">Made for <bdi>${guestName}</bdi>.</p>`

const active = (of: GuestPage): Html =>
  html`<main
    class="page"
    data-id="${of.id}"
    data-account="${of.accountId}"
    data-state="active"
    data-now="${of.now}"
  >
    <p class="eyebrow">Guest code</p>
    <h1>Calls with <bdi>${of.ownerName}</bdi></h1>
    ${madeFor(of)}
    <p class="rule">
      <strong>The caller speaks first.</strong> If the other person called you, check their words
      first. Read out your own words only after this page accepts theirs.
    </p>
    ${needsScript}
    <p class="notice" id="notice" role="status"></p>
    <p class="notice" id="clock" data-kind="warn" role="status"></p>
    <div class="columns" id="code" hidden>
      <section class="card" aria-labelledby="say">
        <h2 id="say">Your words</h2>
        <p class="words" id="words" aria-live="polite" aria-atomic="true"></p>
        <div class="countdown">
          <progress id="bar" max="60" value="0" aria-hidden="true"></progress>
          <p><span id="seconds"></span> until they change</p>
        </div>
      </section>
      <section class="card" aria-labelledby="listen">
        <h2 id="listen">Check their words</h2>
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
        <p class="verdict" id="verdict" role="status"></p>
        <div
          class="suggestions"
          id="suggestions"
          role="group"
          aria-label="Similar words of the list"
          hidden
        ></div>
        <p class="hint">
          Their words are different from yours. This page accepts them only once: in the minute in
          which they are shown, in the minute before, or in the minute after.
        </p>
      </section>
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
