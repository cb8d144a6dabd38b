/**
 * The page of a stamp. It fetches and checks the stamp, and asks for the file. One verdict applies
 * to the whole page: it is green only while the chosen file is the stamped file. If the stamp is
 * rejected, the page shows no content of it, because none of it is verified.
 */
import { decodeBase64url } from '../crypto/encoding/base64url.ts'
import type { StampFacts } from '../crypto/stamp.ts'
import type { Catalogue } from '../languages/translation.ts'
import { element, make, nameElement } from './element.ts'
import { messageNodes, messageString, pageLocale, readMessages } from './messages.ts'
import {
  checkStamp,
  fileCheck,
  type FileResult,
  type ServedStamp,
  type StampCheck,
  type StampRefusal,
} from './stamp-check.ts'

type Content = (string | Node)[]
type Row = [name: string, ...value: Content]
type Messages = Catalogue['stampScript'] & { faults: Catalogue['stampFaults'] }
type Checked = Exclude<StampCheck, { kind: 'refused' }>

/** Shows the verdict of the whole page. `kind` is its colour. */
function showVerdict(
  kind: 'ok' | 'bad' | 'warn' | 'found' | 'wait',
  title: string,
  ...text: Content
): void {
  const result = element('result', HTMLElement)
  result.dataset['kind'] = kind
  document.body.dataset['verdict'] = kind
  element('result-title', HTMLElement).textContent = title
  element('result-text', HTMLElement).replaceChildren(...text)
  result.hidden = false
}

function show(messages: Messages, check: StampCheck, now: number): void {
  if (check.kind === 'refused') {
    const { reason } = check
    const faults: { readonly [R in StampRefusal]?: string } = messages.faults
    showVerdict('bad', messages.refused, faults[reason] ?? messages.faults.rule)
    element('result', HTMLElement).dataset['reason'] = reason
    return
  }
  fill('summary', summaryOf(messages, check, now))
  fill('facts', factsOf(messages, check.facts))
  element('about', HTMLElement).hidden = false
  element('compare', HTMLElement).hidden = false
  if (check.kind === 'valid') showVerdict('found', messages.found, messages.foundText)
  else showVerdict('warn', messages.incomplete, messages.incompleteText)
  fileCheck(check.facts.payload, (result) => showFile(messages, check, result))
}

function showFile(messages: Messages, check: Checked, { state, name }: FileResult): void {
  const file = nameElement(name)
  switch (state) {
    case 'reading':
      showVerdict('wait', messages.comparing, file)
      break
    case 'same':
      if (check.kind === 'unbound')
        showVerdict('warn', messages.sameIncomplete, messages.incompleteText)
      else if (check.signer === null)
        showVerdict('ok', messages.same, ...messageNodes(messages.sameByUnnamed, { file }))
      else {
        const values = { file, signer: nameElement(check.signer) }
        showVerdict('ok', messages.same, ...messageNodes(messages.sameBy, values))
      }
      break
    case 'different':
      showVerdict('bad', messages.different, ...messageNodes(messages.differentText, { file }))
      break
    case 'too_large': {
      const command = code('countersignd stamp verify FILE STAMP')
      const text = messageNodes(messages.tooLarge, { file, command })
      showVerdict('warn', messages.fileNotChecked, ...text)
      break
    }
    case 'unreadable':
      showVerdict('warn', messages.fileNotChecked, ...messageNodes(messages.unreadable, { file }))
  }
}

/** Replaces the rows of a description list. */
function fill(id: string, rows: readonly Row[]): void {
  element(id, HTMLElement).replaceChildren(
    ...rows.map(([name, ...value]) =>
      make('div', '', make('dt', '', name), make('dd', '', ...value)),
    ),
  )
}

const note = (text: string) => make('small', '', text)

/** Returns a value that is the same in every language. */
function code(text: string): HTMLElement {
  const made = make('code', '', text)
  made.translate = false
  return made
}

function summaryOf(messages: Messages, { facts, signer }: Checked, now: number): Row[] {
  const { payload, keyLog, receipt, assurance } = facts
  const isLate = payload.iat * 1000 > now + 300_000
  return [
    [
      messages.name,
      ...(signer === null ? [messages.noName] : [make('strong', '', nameElement(signer))]),
      note(signer === null ? messages.noNameNote : messages.nameNote),
      ...(keyLog.generation === 1 ? [] : [note(messages.replaced)]),
    ],
    [
      messages.known,
      messages[assurance],
      note(receipt === null ? messages.onlyReceipt : messages.byReceipt),
    ],
    [
      messages.signed,
      time(messages, payload.iat),
      note(messages.bySigner),
      ...(isLate ? [note(messages.inFuture)] : []),
    ],
    [
      messages.received,
      receipt === null ? messages.noReceipt : time(messages, receipt.received_at),
    ],
    ...(payload.ctx === null ? [] : [[messages.context, make('q', '', payload.ctx)] satisfies Row]),
  ]
}

function factsOf(messages: Messages, { payload, device, keyLog, words, root }: StampFacts): Row[] {
  const english = make('span', 'look-up', words.join(' '))
  english.lang = 'en'
  english.translate = false
  return [
    [messages.account, code(payload.iss)],
    [messages.root, code(hex(root.hash)), note(messages.rootNote)],
    [messages.signingDevice, code(device)],
    [messages.deviceKey, code(keyLog.devices.get(device)?.kid ?? '')],
    [messages.digest, code(hex(decodeBase64url(payload.sha256)))],
    [
      messages.length,
      payload.len === null
        ? messages.notGiven
        : messageString(messages.bytes, { count: payload.len }),
    ],
    [messages.mediaType, payload.media_type ?? messages.notGiven],
    [messages.words, english, note(messages.wordsNote)],
  ]
}

/** Returns a digest in lower-case hexadecimal, as `sha256sum` prints it. */
const hex = (digest: Uint8Array) =>
  Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Formats Unix seconds in UTC, so that all viewers of the stamp see the same time. */
function time(messages: Messages, unixS: number): HTMLElement | string {
  const date = new Date(unixS * 1000)
  if (Number.isNaN(date.getTime()))
    return messageString(messages.secondsAfter1970, { count: unixS })
  const made = make('time', '', date.toLocaleString(pageLocale(), UTC), ' UTC')
  made.dateTime = date.toISOString()
  return made
}
const UTC = { dateStyle: 'long', timeStyle: 'medium', timeZone: 'UTC' } as const

async function run(main: HTMLElement): Promise<void> {
  element('needs-script', HTMLElement).hidden = true
  const messages = readMessages<Messages>()
  // Without a secure connection, another server could have sent this script, and the browser
  // computes no digest of a file.
  if (!isSecureContext) {
    showVerdict('warn', messages.notChecked, messages.insecure)
    return
  }
  showVerdict('wait', messages.checking, messages.checkingText)
  const id = main.dataset['id'] ?? ''
  let served: ServedStamp
  try {
    const answer = await fetch(`/s/${encodeURIComponent(id)}/file`, { credentials: 'omit' })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    served = (await answer.json()) as ServedStamp
  } catch {
    showVerdict('warn', messages.notChecked, messages.notFetched)
    return
  }
  show(messages, checkStamp(served, id, location.hash.slice(1)), Number(main.dataset['now']))
  // If another link to the same stamp is opened in this tab, only the fragment changes, and the
  // stamp must be checked again.
  window.addEventListener('hashchange', () => location.reload())
}

const main = document.querySelector('main')
if (main?.dataset['state'] === 'known') void run(main)
