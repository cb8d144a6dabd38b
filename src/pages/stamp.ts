/**
 * The page of a stamp. It fetches and checks the stamp, and shows its content. If the stamp is
 * rejected, it shows no content, because none of it is verified.
 */
import { decodeBase64url } from '../crypto/encoding/base64url.ts'
import type { StampFacts } from '../crypto/stamp.ts'
import { element, make } from './element.ts'
import { fileCheck, checkStamp, type ServedStamp, type StampCheck } from './stamp-check.ts'

const LEVEL = {
  device: 'Device: one device signed. Nothing more is known about its user',
  verified_email: 'Verified e-mail: the account has confirmed its mailbox',
  organisation: 'Organisation: the account is an active member of an organisation',
} as const

type Row = [name: string, ...value: (string | Node)[]]

function showResult(kind: string, title: string, text: string): void {
  element('result', HTMLElement).dataset['kind'] = kind
  element('result-title', HTMLElement).textContent = title
  element('result-text', HTMLElement).textContent = text
}

function show(check: StampCheck, now: number): void {
  if (check.kind === 'refused') {
    showResult('bad', 'Refused', `${check.text} Do not rely on this stamp.`)
    element('result', HTMLElement).dataset['reason'] = check.reason
    return
  }
  if (check.kind === 'valid') {
    showResult(
      'ok',
      'Valid',
      'The signature is right, and the link was made for this stamp. Only the server confirms which account signed.',
    )
  } else {
    const text =
      'The signature is right, but the link has no check value after “#”. So this page cannot check that the link was made for this stamp. Ask for the full link.'
    showResult('warn', 'Valid, but not tied to your link', text)
  }
  const rows = factsOf(check.facts, now).map(([name, ...value]) =>
    make('div', '', make('dt', '', name), make('dd', '', ...value)),
  )
  element('facts', HTMLElement).replaceChildren(...rows)
  element('details', HTMLElement).hidden = false
  fileCheck(check.facts.payload)
}

function factsOf(facts: StampFacts, now: number): Row[] {
  const { payload, device, keyLog, words, receipt, root, assurance } = facts
  const note = (text: string) => make('small', '', text)
  const late = payload.iat * 1000 > now + 300_000
  const anew = note(
    'All devices of this account were replaced at least once. Make sure that the account still belongs to the same person.',
  )
  return [
    [
      'Signed, as the signer claims',
      time(payload.iat),
      ...(late ? [note('This time is in the future, according to the server’s clock.')] : []),
    ],
    receipt === null
      ? ['Received by the server', 'No receipt yet. Only the signer confirms the time.']
      : ['Received by the server', time(receipt.received_at)],
    [
      'Assurance',
      LEVEL[assurance],
      note(
        receipt === null
          ? 'Only a receipt could prove a higher level.'
          : 'According to the server’s receipt.',
      ),
    ],
    ['Signer’s account', make('code', '', payload.iss), ...(keyLog.generation === 1 ? [] : [anew])],
    [
      'Root of the account',
      make('code', '', hex(root.hash)),
      note(
        'The root identifies the signer’s keys. Compare it with the root that the signer gave you.',
      ),
    ],
    ['Signing device', make('code', '', device)],
    ['Key of the device', make('code', '', keyLog.devices.get(device)?.kid ?? '')],
    ['Media type', payload.media_type ?? 'not given'],
    ['Length', payload.len === null ? 'not given' : bytes(payload.len)],
    ['Context', payload.ctx === null ? 'none' : make('q', '', payload.ctx)],
    ['SHA-256', make('code', '', hex(decodeBase64url(payload.sha256)))],
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

async function run(main: HTMLElement): Promise<void> {
  const id = main.dataset['id'] ?? ''
  let served: ServedStamp
  try {
    const answer = await fetch(`/s/${encodeURIComponent(id)}/file`, { credentials: 'omit' })
    if (!answer.ok) throw new Error(`status ${answer.status}`)
    served = (await answer.json()) as ServedStamp
  } catch {
    showResult('warn', 'Not checked', 'The stamp could not be fetched. Try again in a moment.')
    return
  }
  show(checkStamp(served, id, location.hash.slice(1)), Number(main.dataset['now']))
  // If another link to the same stamp is opened in this tab, only the fragment changes, and the
  // stamp must be checked again.
  window.addEventListener('hashchange', () => location.reload())
}

const main = document.querySelector('main')
if (main?.dataset['state'] === 'known') void run(main)
