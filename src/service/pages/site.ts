/**
 * The account server's public pages. Links to them are sent by mail and chat, where scanners open
 * them too, so opening a page must not change anything.
 */
import type { Open } from '../../api/port.ts'
import type { Content } from '../../api/route.ts'
import { isId } from '../../crypto/encoding/id.ts'
import { type Language, languageOf } from '../../languages/languages.ts'
import { asset } from '../../runtime/executable.ts'
import type { ServiceContext } from '../context.ts'
import { notFound, requireId } from '../db/faults.ts'
import { guestCodeState } from '../guests/guest-codes.ts'
import { servedStamp, storedStamp } from '../stamps/served-stamp.ts'
import {
  document,
  html,
  messageHtml,
  STAMP_COMMAND,
  needsScript,
  scriptMessages,
} from './document.ts'
import { UNKNOWN_GUEST, guestPage } from './guest-page.ts'
import { homePage } from './home-page.ts'

/**
 * Returns the page of a stamp, or a page with status 404 if the stamp is not known. The page
 * contains only the id. Its script fetches the stamp and verifies it in the browser.
 * @param of `id`: the id in the path; `known`: whether the stamp exists; `now`: the server's time
 *   in Unix milliseconds; `server`: the base URL of this server
 */
export function stampPage(of: {
  id: string
  known: boolean
  now: number
  server: string
  language: Language
}): Content {
  const { language, server } = of
  const { stamp: texts, stampScript, stampFaults } = language.messages
  const page = { language, server, script: '/assets/stamp.js' } as const
  if (!of.known) {
    const main = html`<main class="page" data-state="unknown">
      <p class="eyebrow">${texts.eyebrow}</p>
      <h1>${texts.unknownHeading}</h1>
      <section class="result" data-kind="warn">
        <h2>${texts.notChecked}</h2>
        <p>${texts.unknown}</p>
      </section>
      <details class="small">
        <summary>${texts.haveFile}</summary>
        <p>${texts.checkFile}</p>
        <p>${STAMP_COMMAND}</p>
      </details>
    </main>`
    return document({ ...page, title: texts.unknownTitle, main, status: 404 })
  }

  const main = html`<main
    class="page"
    data-id="${of.id}"
    data-state="known"
    data-now="${of.now}"
    ${scriptMessages(language, { ...stampScript, faults: stampFaults })}
  >
    <p class="eyebrow">${texts.eyebrow}</p>
    <h1>${texts.heading}</h1>
    ${needsScript(language)}
    <section class="result" id="result" role="status" hidden>
      <h2 id="result-title"></h2>
      <p id="result-text"></p>
    </section>
    <section class="card" id="compare" aria-labelledby="choose" hidden>
      <h2 id="choose">${texts.yourFile}</h2>
      <div class="drop" id="drop">
        <input id="file" type="file" aria-describedby="stays" />
        <label for="file"><strong>${texts.choose}</strong> <span>${texts.drop}</span></label>
      </div>
      <p class="hint" id="stays">${texts.stays}</p>
    </section>
    <section class="card" id="about" aria-labelledby="signed" hidden>
      <h2 id="signed">${texts.whoSigned}</h2>
      <dl id="summary"></dl>
      <details>
        <summary>${texts.details}</summary>
        <dl id="facts"></dl>
      </details>
    </section>
    <details class="small">
      <summary>${texts.limits}</summary>
      <p>${messageHtml(language, texts.limitsText, { command: STAMP_COMMAND })}</p>
    </details>
  </main>`
  return document({ ...page, title: texts.eyebrow, main })
}

export const guestPages = ({ db, events, now, publicUrl }: ServiceContext): Open['guestPages'] => ({
  read: async ({ id }, { languages }) => {
    const page = { id, now: now(), server: publicUrl(), language: languageOf(languages) }
    const row = isId('gst_', id)
      ? await db
          .selectFrom('guest_codes')
          .innerJoin('accounts', 'accounts.id', 'guest_codes.account_id')
          .leftJoin('external_members', 'external_members.id', 'external_member_id')
          .select([
            'guest_codes.account_id as accountId',
            'accounts.display_name as ownerName',
            'external_members.display_name as guestName',
            'expires_at',
            'revoked_at',
          ])
          .where('guest_codes.id', '=', id)
          .executeTakeFirst()
      : undefined
    if (row === undefined) return guestPage({ ...UNKNOWN_GUEST, ...page })
    const { accountId, ownerName, guestName, expires_at: expiresAt } = row
    const state = guestCodeState(row, page.now)
    return guestPage({ ...page, accountId, ownerName, guestName, expiresAt, state })
  },

  opened: async ({ id }) => {
    requireId('gst_', id, 'guest code')
    const at = now()
    const row = await db
      .selectFrom('guest_codes')
      .select(['account_id', 'label', 'revoked_at', 'expires_at'])
      .where('id', '=', id)
      .executeTakeFirst()
    if (row === undefined) throw notFound('guest code')
    // The page of a revoked or expired code shows no words, so it does not count as opened.
    if (guestCodeState(row, at) !== 'active') return
    const opening = { last_opened_at: at }
    await events.transaction(async (trx) => {
      const { numUpdatedRows: first } = await trx
        .updateTable('guest_codes')
        .set(opening)
        .where('id', '=', id)
        .where('last_opened_at', 'is', null)
        .executeTakeFirst()
      if (first === 1n) {
        const { account_id: account, label } = row
        return events.publish(trx, { type: 'guest_code.opened', account, code: id, label, at })
      }
      await trx.updateTable('guest_codes').set(opening).where('id', '=', id).execute()
    })
  },
})

export const stampPages = (ground: ServiceContext): Open['stampPages'] => ({
  read: async ({ id }, { languages }) => {
    const known = (await storedStamp(ground, id)) !== undefined
    const language = languageOf(languages)
    return stampPage({ id, known, now: ground.now(), server: ground.publicUrl(), language })
  },
  file: ({ id }) => servedStamp(ground, id),
})

export const home = ({ publicUrl }: ServiceContext): Open['home'] => ({
  read: async (_, { languages }) => homePage(languageOf(languages), publicUrl()),
})

/**
 * All files that are served, with their media types. Only these names are ever used as file names.
 */
const ASSETS: ReadonlyMap<string, string> = new Map([
  ['guest.js', 'text/javascript; charset=utf-8'],
  ['stamp.js', 'text/javascript; charset=utf-8'],
  ['style.css', 'text/css; charset=utf-8'],
])

export const assets = (): Open['assets'] => ({
  read: async ({ name }) => {
    const type = ASSETS.get(name)
    if (type === undefined) throw notFound('file')
    return { type, body: asset(`pages/${name}`) }
  },
})
