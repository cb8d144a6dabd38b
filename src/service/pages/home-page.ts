/** Returns the page at the root address of an account server. */
import type { Content } from '../../api/route.ts'
import { document } from './document.ts'
import { html } from './html.ts'

export const homePage = (): Content =>
  document({
    title: 'Account server',
    main: html`<main class="page narrow">
      <h1>Account server</h1>
      <section class="card">
        <p>
          This server keeps accounts of Countersign for the daemons of their owners. If someone sent
          you a link, open the whole of it: this address alone shows nothing.
        </p>
        <p>To use it with a daemon, set <code>SVC_BACKEND_URL</code> to this address.</p>
      </section>
    </main>`,
  })
