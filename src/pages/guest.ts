/**
 * The page of a guest code. It reads the secret from the fragment in the address bar, asks who
 * called, shows the guest's words and checks the other side's words. The guest's words are in the
 * document only after the guest chose to call, or after the caller's words were accepted. The
 * secret is read once, imported as a key that is not extractable, and overwritten with zeros. It is
 * never logged, sent, or stored as bytes.
 */
import { decodeBase64url } from '../crypto/encoding/base64url.ts'
import { PERIOD_S, windowOf } from '../crypto/code.ts'
import { parseId, ID_PREFIX } from '../crypto/encoding/id.ts'
import { acceptedWindows, forget, keep, recallKey } from './tab-store.ts'
import { checkBox, type CallMode, type GuestMessages } from './check-box.ts'
import { startCountdown, serverClock, TOLERANCE_MS } from './server-clock.ts'
import { element, make, nameElement, say } from './element.ts'
import { importCodeKey, readGuestWords } from './guest-code.ts'
import { minuteIn } from '../languages/times.ts'
import { messageNodes, messageString, pageLocale, readMessages } from './messages.ts'

/** Returns the fragment, and removes it from the address bar and from the current history entry. */
function takeFragment(): string {
  const fragment = location.hash.slice(1)
  if (location.href.includes('#')) {
    history.replaceState(history.state, '', location.pathname + location.search)
  }
  return fragment
}

/** Returns the secret K from a fragment; null if the fragment is not 32 bytes in base64url. */
function readSecret(fragment: string): Uint8Array<ArrayBuffer> | null {
  try {
    const bytes = decodeBase64url(fragment) as Uint8Array<ArrayBuffer>
    if (bytes.length === 32) return bytes
    bytes.fill(0)
  } catch {
    // The fragment was truncated or mistyped. The page treats the link as one without a secret.
  }
  return null
}

/** Formats Unix milliseconds as the time of day on this device. */
const timeOfDay = (unixMs: number): string =>
  new Date(unixMs).toLocaleTimeString(pageLocale(), { hour: '2-digit', minute: '2-digit' })

function run(main: HTMLElement, fragment: string): void {
  const messages = readMessages<GuestMessages>()
  element('needs-script', HTMLElement).hidden = true
  const id = main.dataset['id'] ?? ''
  const speakers = {
    guest: parseId(ID_PREFIX.guest, id),
    owner: parseId(ID_PREFIX.account, main.dataset['account'] ?? ''),
  }
  const owner = main.dataset['owner'] ?? ''
  const expiry = document.querySelector<HTMLTimeElement>('#expiry')
  if (expiry !== null) expiry.textContent = minuteIn(pageLocale(), Date.parse(expiry.dateTime))
  const clock = serverClock(Number(main.dataset['now']))
  const notice = element('notice', HTMLElement)
  const who = element('who', HTMLElement)
  const steps = element('steps', HTMLElement)
  const theirs = element('theirs', HTMLElement)
  const mine = element('mine', HTMLElement)
  const device = element('device', HTMLElement)
  const words = element('words', HTMLElement)
  const storageNote = element('kept', HTMLElement)

  let key: CryptoKey | null = null
  let stored = false
  let opened = false
  /** Whether the guest's own words may be in the document. */
  let revealed = false
  /** When the other side's words were accepted: the window and the time of day. */
  let accepted: { window: number; at: string } | null = null
  let stopTicking = () => {}
  /**
   * The number of the latest start. An earlier, slower start must not restore a code that was
   * dropped since.
   */
  let latest = 0

  const currentWindow = async () => {
    await clock.settle()
    return windowOf(clock.now())
  }

  const box = checkBox({
    messages,
    owner,
    window: currentWindow,
    wordsOf: (speaker, window) =>
      key === null
        ? Promise.reject(new Error('no key'))
        : readGuestWords(key, window, speakers[speaker]),
    accept: acceptedWindows(id),
    accepted: () => {
      accepted = { window: windowOf(clock.now()), at: timeOfDay(clock.now()) }
      if (main.dataset['mode'] === 'calling') hideWords()
      else void reveal()
    },
  })

  const showWords = async (window: number) => {
    const used = key
    if (used === null || !revealed) return
    const guestWords = await readGuestWords(used, window, speakers.guest)
    if (used !== key || !revealed || words.dataset['window'] === String(window)) return
    words.dataset['window'] = String(window)
    // Separated by spaces, so that the words are read aloud and copied as three words.
    words.replaceChildren(...guestWords.flatMap((word) => [make('span', '', word), ' ']))
    // The other side accepts the words for one more minute.
    const end = (window + 2) * PERIOD_S * 1000
    element('until', HTMLElement).textContent = timeOfDay(end)
  }

  const hideWords = () => {
    revealed = false
    mine.hidden = true
    words.replaceChildren()
    delete words.dataset['window']
  }

  const reveal = async () => {
    revealed = true
    mine.hidden = false
    await showWords(await currentWindow())
  }

  /** Asks who called. Removes the words and the verdict of the call before. */
  const askWho = () => {
    hideWords()
    accepted = null
    box.reset('called')
    delete main.dataset['mode']
    steps.hidden = true
    who.hidden = false
  }

  const choose = (mode: CallMode) => {
    say(notice, '')
    box.reset(mode)
    main.dataset['mode'] = mode
    who.hidden = true
    // The order of the document is the order of the steps, also for the keyboard.
    if (mode === 'calling') steps.prepend(mine)
    else theirs.after(mine)
    steps.hidden = false
    if (mode === 'called') {
      element('heard', HTMLElement).focus()
      return
    }
    void reveal()
    element('say', HTMLElement).focus()
  }

  const tick = (window: number, seconds: number) => {
    element('seconds', HTMLElement).textContent = messageString(messages.seconds, {
      count: seconds,
    })
    element('bar', HTMLProgressElement).value = seconds
    warnOfClock(messages, clock.ahead())
    if (words.dataset['window'] !== String(window)) void showWords(window)
    // The verdict applies to one call, and not to a call that begins minutes later.
    if (accepted === null || window <= accepted.window + 1) return
    const values = { time: accepted.at, owner: nameElement(owner) }
    askWho()
    say(notice, 'info', ...messageNodes(messages.wereRight, values))
  }

  const stop = () => {
    latest += 1
    stopTicking()
    stopTicking = () => {}
    key = null
    askWho()
    who.hidden = true
    device.hidden = true
  }

  const start = async (secret: Uint8Array<ArrayBuffer> | null, cutShort: boolean) => {
    stop()
    const mine = latest
    if (!isSecureContext) {
      secret?.fill(0)
      say(notice, 'warn', messages.insecure)
      return
    }
    const found =
      secret === null ? await recallKey(id) : await importCodeKey(secret, speakers.guest)
    if (mine !== latest) return
    if (found === null) {
      const why = cutShort ? messages.incompleteLink : messages.noCode
      say(notice, 'warn', make('strong', '', why), ` ${messages.openLink}`)
      return
    }
    stored = secret === null || (await keep(id, found))
    if (mine !== latest) return
    if (secret !== null && stored) {
      // The document still contains the address with which it was loaded, including the fragment
      // (Navigation Timing). The reloaded document has an address without the fragment.
      location.reload()
      return
    }
    key = found
    say(notice, '')
    storageNote.textContent = stored ? messages.stored : messages.notStored
    await clock.settle()
    if (mine !== latest) return
    who.hidden = false
    device.hidden = false
    stopTicking = startCountdown(clock, tick)
    if (opened) return
    opened = true
    // The mode must stay "cors". In any other mode, a page without a referrer sends `Origin: null`.
    const note = fetch(`/g/${id}/opened`, { method: 'POST', credentials: 'omit', keepalive: true })
    note.catch(() => {})
  }

  const begin = (text: string) => {
    const secret = readSecret(text)
    void start(secret, text !== '' && secret === null)
  }

  for (const mode of ['called', 'calling'] as const)
    element(mode, HTMLElement).addEventListener('click', () => choose(mode))
  element('again', HTMLElement).addEventListener('click', () => {
    askWho()
    element('who-called', HTMLElement).focus()
  })
  element('forget', HTMLElement).addEventListener('click', () => {
    stop()
    void forget(id).then(() => {
      say(notice, 'info', messages.removed)
      notice.focus()
    })
  })
  // If the user opens the full link in this same tab, only the fragment changes and the page is not
  // loaded again.
  window.addEventListener('hashchange', () => {
    const text = takeFragment()
    if (text !== '') begin(text)
  })
  // A page that enters the back/forward cache clears its words. When the page is restored, it
  // starts again.
  window.addEventListener('pagehide', stop)
  window.addEventListener('pageshow', (event) => {
    if (event.persisted) begin(takeFragment())
  })
  // If the user removed the code in another tab, this tab drops it too.
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState !== 'visible' || key === null || !stored) return
    void recallKey(id).then((still) => {
      if (still === null) void start(null, false)
    })
  })
  begin(fragment)
}

function warnOfClock(messages: GuestMessages, aheadMs: number): void {
  const where = element('clock', HTMLElement)
  const off = Math.abs(aheadMs) > TOLERANCE_MS
  if (off === (where.textContent !== '')) return
  const duration = durationText(messages, Math.abs(aheadMs))
  const text = messageString(aheadMs > 0 ? messages.ahead : messages.behind, { duration })
  say(where, 'warn', ...(off ? [`${text} ${messages.setClock}`] : []))
}

function durationText({ seconds, minutes, hours, days }: GuestMessages, ms: number): string {
  const all = Math.round(ms / 1000)
  if (all < 120) return messageString(seconds, { count: all })
  if (all < 2 * 3600) return messageString(minutes, { count: Math.round(all / 60) })
  return all < 48 * 3600
    ? messageString(hours, { count: Math.round(all / 3600) })
    : messageString(days, { count: Math.round(all / 86_400) })
}

// This happens first, before anything can fail and leave the secret in the address bar.
const fragment = takeFragment()
const main = document.querySelector('main')
if (main?.dataset['state'] === 'active') run(main, fragment)
else if (main?.dataset['id'] !== undefined) void forget(main.dataset['id'])
