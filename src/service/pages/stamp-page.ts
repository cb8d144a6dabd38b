/**
 * The page of a stamp. The server only returns its id; the script fetches the stamp and verifies
 * it in the browser.
 */
import type { Content } from '../../api/route.ts'
import { document, html, needsScript } from './document.ts'

/**
 * Returns the page of a stamp, with status 404 if no stamp has the id.
 * @param of `id`: from the path; `now`: the server's time in Unix milliseconds
 */
export function stampPage(of: { id: string; known: boolean; now: number }): Content {
  const script = '/assets/stamp.js'
  if (!of.known) {
    const main = html`<main class="page narrow" data-state="unknown">
      <p class="eyebrow">Stamp</p>
      <h1>There is no such stamp here</h1>
      <section class="card">
        <p>
          The link may be incomplete or mistyped, or it belongs to another server. The person who
          gave it to you can send the stamp as a file, which checks without this page:
        </p>
        <p><code>countersignd stamp verify FILE STAMP --root ROOT</code></p>
      </section>
    </main>`
    return document({ title: 'No such stamp', script, main, status: 404 })
  }

  const main = html`<main class="page" data-id="${of.id}" data-state="known" data-now="${of.now}">
    <p class="eyebrow">Stamp</p>
    <h1>Who signed this, and what</h1>
    ${needsScript}
    <section class="result" id="result" data-kind="wait" role="status">
      <h2 id="result-title">Checking &hellip;</h2>
      <p id="result-text">Your browser is checking the stamp.</p>
    </section>
    <div class="columns" id="details" hidden>
      <section class="card" aria-labelledby="about">
        <h2 id="about">The stamp</h2>
        <dl id="facts"></dl>
      </section>
      <section class="card" aria-labelledby="compare">
        <h2 id="compare">Is it your file?</h2>
        <p class="hint">
          Choose the file that you have. It is compared inside your browser and never leaves it.
        </p>
        <div class="drop" id="drop">
          <input id="file" type="file" aria-describedby="match" />
          <label for="file"><strong>Choose a file</strong> <span>or drop it here</span></label>
        </div>
        <p class="verdict" id="match" role="status"></p>
      </section>
    </div>
    <details class="small">
      <summary>What this page cannot protect you from</summary>
      <p>
        Its script comes from the server, so a dishonest server could send one that claims
        &ldquo;valid&rdquo; to everything. The signer&rsquo;s key log and the key that receipts are
        checked with come from it, too. To trust no server, check offline with the root that the
        signer gave you: <code>countersignd stamp verify FILE STAMP --root ROOT</code>
      </p>
    </details>
  </main>`
  return document({ title: 'Stamp', script, main })
}
