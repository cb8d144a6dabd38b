/**
 * The page of a stamp. It fetches and checks the stamp, and asks for the file. One verdict applies
 * to the whole page: it is green only while the chosen file is the stamped file. If the stamp is
 * rejected, the page shows no content of it, because none of it is verified.
 */
import { decodeBase64url } from '../crypto/encoding/base64url.ts'
import type { StampFacts } from '../crypto/stamp.ts'
import { element, make, nameElement } from './element.ts'
import {
  checkStamp,
  fileCheck,
  type FileResult,
  type ServedStamp,
  type StampCheck,
} from './stamp-check.ts'

const ASSURANCE = {
  device: 'A device of this account signed. Nothing confirms who uses it.',
  verified_email: 'The account had confirmed an e-mail address when the server received the stamp.',
  organisation:
    'The account was an active member of an organisation when the server received the stamp.',
} as const

type Content = (string | Node)[]
type Row = [name: string, ...value: Content]
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

function show(check: StampCheck, now: number): void {
  if (check.kind === 'refused') {
    showVerdict('bad', 'Do not rely on this stamp', check.text)
    element('result', HTMLElement).dataset['reason'] = check.reason
    return
  }
  fill('summary', summaryOf(check, now))
  fill('facts', factsOf(check.facts))
  element('about', HTMLElement).hidden = false
  element('compare', HTMLElement).hidden = false
  if (check.kind === 'valid') {
    const text = 'A stamp is about one exact file. Choose the file that you have.'
    showVerdict('found', 'Signature found. Now check your file', text)
  } else showVerdict('warn', 'Your link is incomplete', UNBOUND)
  fileCheck(check.facts.payload, (result) => showFile(check, result))
}

const UNBOUND =
  'A part after “#” is missing. So this page cannot check that the link was made for this stamp. Ask for the full link.'

function showFile(check: Checked, { state, name }: FileResult): void {
  const file = nameElement(name)
  switch (state) {
    case 'reading':
      showVerdict('wait', 'Comparing your file …', file)
      break
    case 'same':
      if (check.kind === 'unbound')
        showVerdict('warn', 'The file matches, but your link is incomplete', UNBOUND)
      else
        showVerdict(
          'ok',
          'This is the stamped file',
          file,
          ' is byte for byte the file that ',
          ...signerOf(check),
          ' signed.',
        )
      break
    case 'different':
      showVerdict(
        'bad',
        'This is not the stamped file',
        file,
        ' is another file, or it was changed after it was signed. Do not rely on it.',
      )
      break
    case 'too_large':
      showVerdict(
        'warn',
        'Your file was not checked',
        file,
        ' is larger than 1 GiB, which is too large for a browser. On a computer with Countersign, use ',
        make('code', '', 'countersignd stamp verify FILE STAMP'),
      )
      break
    case 'unreadable':
      showVerdict(
        'warn',
        'Your file was not checked',
        'The browser could not read ',
        file,
        '. Choose a file, and not a folder.',
      )
  }
}

/** Returns the signer as a part of a sentence. */
const signerOf = ({ signer }: Checked): Content =>
  signer === null
    ? ['an account without a signed name']
    : ['an account with the name ', nameElement(signer)]

/** Replaces the rows of a description list. */
function fill(id: string, rows: readonly Row[]): void {
  element(id, HTMLElement).replaceChildren(
    ...rows.map(([name, ...value]) =>
      make('div', '', make('dt', '', name), make('dd', '', ...value)),
    ),
  )
}

const note = (text: string) => make('small', '', text)

function summaryOf({ facts, signer }: Checked, now: number): Row[] {
  const { payload, keyLog, receipt, assurance } = facts
  const isLate = payload.iat * 1000 > now + 300_000
  return [
    [
      'Name',
      ...(signer === null ? ['No signed name'] : [make('strong', '', nameElement(signer))]),
      note(
        signer === null
          ? 'Ask the person who gave you the link which account is theirs. The account is under Details.'
          : 'The account chose this name itself, and signed it.',
      ),
      ...(keyLog.generation === 1
        ? []
        : [
            note(
              'All devices of this account were replaced at least once. Make sure that the account still belongs to the same person.',
            ),
          ]),
    ],
    [
      'What is known about the account',
      ASSURANCE[assurance],
      note(
        receipt === null
          ? 'Only a receipt of the server could prove more.'
          : 'According to the receipt of this server.',
      ),
    ],
    [
      'Signed',
      time(payload.iat),
      note('According to the signer.'),
      ...(isLate ? [note('This time is in the future, according to the server’s clock.')] : []),
    ],
    receipt === null
      ? ['Received by the server', 'No receipt yet. Only the signer confirms the time.']
      : ['Received by the server', time(receipt.received_at)],
    ...(payload.ctx === null ? [] : [['Context', make('q', '', payload.ctx)] satisfies Row]),
  ]
}

function factsOf({ payload, device, keyLog, words, root }: StampFacts): Row[] {
  return [
    ['Account', make('code', '', payload.iss)],
    [
      'Root of the account',
      make('code', '', hex(root.hash)),
      note(
        'The root identifies the signer’s keys. Compare it with the root that the signer gave you.',
      ),
    ],
    ['Signing device', make('code', '', device)],
    ['Key of the device', make('code', '', keyLog.devices.get(device)?.kid ?? '')],
    ['SHA-256 of the file', make('code', '', hex(decodeBase64url(payload.sha256)))],
    ['Length', payload.len === null ? 'not given' : bytes(payload.len)],
    ['Media type', payload.media_type ?? 'not given'],
    [
      'Words',
      make('span', 'look-up', words.join(' ')),
      note('The words only help to find a stamp. They are never evidence.'),
    ],
  ]
}

const bytes = (length: number) => (length === 1 ? '1 byte' : `${length.toLocaleString('en')} bytes`)

/** Returns a digest in lower-case hexadecimal, as `sha256sum` prints it. */
const hex = (digest: Uint8Array) =>
  Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Formats Unix seconds in UTC, so that all viewers of the stamp see the same time. */
function time(unixS: number): HTMLElement | string {
  const date = new Date(unixS * 1000)
  if (Number.isNaN(date.getTime())) return `${unixS} seconds after 1970`
  const made = make('time', '', date.toLocaleString('en-GB', UTC), ' UTC')
  made.dateTime = date.toISOString()
  return made
}
const UTC = { dateStyle: 'long', timeStyle: 'medium', timeZone: 'UTC' } as const

const FAILED = 'The stamp could not be fetched. Try again in a moment: reload this page.'

async function run(main: HTMLElement): Promise<void> {
  element('needs-script', HTMLElement).hidden = true
  showVerdict('wait', 'Checking …', 'Your browser is checking the stamp.')
  const id = main.dataset['id'] ?? ''
  let served: ServedStamp
  try {
    const answer = await fetch(`/s/${encodeURIComponent(id)}/file`, { credentials: 'omit' })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    served = (await answer.json()) as ServedStamp
  } catch {
    showVerdict('warn', 'Nothing was checked', FAILED)
    return
  }
  show(checkStamp(served, id, location.hash.slice(1)), Number(main.dataset['now']))
  // If another link to the same stamp is opened in this tab, only the fragment changes, and the
  // stamp must be checked again.
  window.addEventListener('hashchange', () => location.reload())
}

const main = document.querySelector('main')
if (main?.dataset['state'] === 'known') void run(main)
