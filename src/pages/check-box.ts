/** The form in which a guest checks the words of the other side. */
import { checkWords, replaceUnknown, type PageSpeaker, type Verdict } from './check-words.ts'
import { element, make, nameElement, say } from './element.ts'
import type { Catalogue } from '../languages/translation.ts'
import { messageNodes, messageString } from './messages.ts'

/** The messages of the page's script. */
export type GuestMessages = Catalogue['guestScript']

/** Who called: the other side called the guest, or the guest calls the other side. */
export type CallMode = 'called' | 'calling'

export type CheckBox = {
  /** Clears the input and the verdict, and prepares the form for a call of this kind. */
  reset: (mode: CallMode) => void
}

const KIND: Readonly<Record<Verdict['kind'], 'ok' | 'bad' | 'warn'>> = {
  theirs: 'ok',
  used: 'bad',
  own: 'bad',
  wrong: 'bad',
  count: 'warn',
  unknown: 'warn',
}

/**
 * Connects the page's form to the check. `owner` is the name of the other side; `window` returns
 * the current window; for `wordsOf` and `accept` see `checkWords`. Calls `accepted` when the
 * other side's words were right.
 */
export function checkBox(of: {
  messages: GuestMessages
  owner: string
  window: () => Promise<number>
  wordsOf: (speaker: PageSpeaker, window: number) => Promise<readonly string[]>
  accept: (window: number) => boolean
  accepted: () => void
}): CheckBox {
  const card = element('theirs', HTMLElement)
  const input = element('heard', HTMLInputElement)
  const verdict = element('verdict', HTMLElement)
  const suggestions = element('suggestions', HTMLElement)
  let mode: CallMode = 'called'
  /**
   * The number of the latest check. The result of an earlier, slower check must not overwrite the
   * result of the latest.
   */
  let latest = 0

  const show = (kind: string, ...content: (string | Node)[]) => {
    // Emptied first, so that a screen reader announces the text again even if it has not changed.
    say(verdict, kind)
    delete verdict.dataset['verdict']
    suggestions.replaceChildren()
    suggestions.hidden = true
    say(verdict, kind, ...content)
  }

  const check = async () => {
    const mine = ++latest
    const typed = input.value
    const window = await of.window()
    if (mine !== latest) return
    const found = await checkWords(typed, window, of.wordsOf, of.accept)
    if (mine !== latest) return
    show(KIND[found.kind], ...sentences(of.messages, found, mode, of.owner))
    verdict.dataset['verdict'] = found.kind
    if (found.kind === 'theirs') {
      input.value = ''
      card.hidden = true
      of.accepted()
      verdict.focus()
    }
    if (found.kind === 'unknown') offer(found.word, found.suggestions)
    if (found.kind !== 'theirs' && found.kind !== 'unknown') input.select()
  }

  const offer = (word: string, near: readonly string[]) => {
    for (const each of near) {
      const button = make('button', 'quiet', each)
      button.type = 'button'
      // The words are English in every language of the page.
      button.lang = 'en'
      button.translate = false
      button.addEventListener('click', () => {
        input.value = replaceUnknown(input.value, word, each)
        show('')
        input.focus()
      })
      suggestions.append(button)
    }
    suggestions.hidden = near.length === 0
  }

  element('check', HTMLFormElement).addEventListener('submit', (event) => {
    event.preventDefault()
    void check()
  })
  input.addEventListener('input', () => {
    // The verdict applies to the words that were checked, so it is removed as soon as others are
    // typed.
    latest += 1
    show('')
  })

  return {
    reset: (next) => {
      latest += 1
      mode = next
      input.value = ''
      card.hidden = false
      show('')
    },
  }
}

/** Returns the verdict as content: what was found in bold, then the next step. */
function sentences(
  messages: GuestMessages,
  verdict: Verdict,
  mode: CallMode,
  owner: string,
): (string | Node)[] {
  const bold = (...content: (string | Node)[]) => make('strong', '', ...content)
  const named = { owner: nameElement(owner) }
  const keep = mode === 'called' ? [messages.doNotSayYours] : []
  const next = (...texts: string[]) => texts.join(' ')
  switch (verdict.kind) {
    case 'theirs':
      return [
        bold(...messageNodes(messages.right, named)),
        mode === 'called' ? messages.nowSayYours : messages.talk,
      ]
    case 'used':
      return [bold(messages.used), next(...keep, messages.usedNext)]
    case 'own':
      return [bold(messages.own), next(messages.ownNext, ...keep, messages.hangUp)]
    case 'wrong':
      return [
        bold(...messageNodes(messages.wrong, named)),
        next(messages.doNotTrust, ...keep, messages.wrongNext),
      ]
    case 'count':
      return [
        verdict.found === 0
          ? messages.typeThree
          : messageString(messages.count, { count: verdict.found }),
      ]
    case 'unknown': {
      const { word, suggestions } = verdict
      const ask = suggestions.length > 0 ? messages.didYouHear : messages.askToRepeat
      return [next(messageString(messages.unknownWord, { word }), ask)]
    }
  }
}
