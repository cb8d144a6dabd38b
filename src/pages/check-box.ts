/** The form in which a guest checks the words of the other side. */
import { checkWords, replaceUnknown, type PageSpeaker, type Verdict } from './check-words.ts'
import { element, make, say } from './element.ts'

export type CheckBox = {
  /**
   * Removes the verdict "theirs" if it is too old to apply to the current call. `window` is the
   * current window.
   */
  turn: (window: number) => void
  /** Clears the input and the verdict. */
  clear: () => void
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
 * Connects the page's form to the check. `window` returns the current window; for `wordsOf` and
 * `accept` see `checkWords`.
 */
export function checkBox(of: {
  window: () => Promise<number>
  wordsOf: (speaker: PageSpeaker, window: number) => Promise<readonly string[]>
  accept: (window: number) => boolean
}): CheckBox {
  const input = element('heard', HTMLInputElement)
  const verdict = element('verdict', HTMLElement)
  const suggestions = element('suggestions', HTMLElement)
  let accepted: { window: number; at: string } | null = null
  /**
   * The number of the latest check. The result of an earlier, slower check must not overwrite the
   * result of the latest.
   */
  let latest = 0

  const show = (kind: string, text: string) => {
    // Emptied first, so that a screen reader announces the text again even if it has not changed.
    say(verdict, kind, '')
    suggestions.replaceChildren()
    suggestions.hidden = true
    say(verdict, kind, text)
  }
  const clear = () => {
    latest += 1
    accepted = null
    input.value = ''
    show('', '')
  }

  const check = async () => {
    const mine = ++latest
    const typed = input.value
    const window = await of.window()
    if (mine !== latest) return
    const found = await checkWords(typed, window, of.wordsOf, of.accept)
    if (mine !== latest) return
    accepted = null
    show(KIND[found.kind], sentence(found))
    verdict.dataset['verdict'] = found.kind
    if (found.kind === 'theirs') {
      accepted = { window: found.window, at: new Date().toLocaleTimeString() }
      input.value = ''
    }
    if (found.kind === 'unknown') offer(found.word, found.suggestions)
    if (found.kind === 'count' || found.kind === 'wrong') input.select()
  }

  const offer = (word: string, near: readonly string[]) => {
    for (const each of near) {
      const button = make('button', 'quiet', each)
      button.type = 'button'
      button.addEventListener('click', () => {
        input.value = replaceUnknown(input.value, word, each)
        show('', '')
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
    if (input.value === '') return
    latest += 1
    accepted = null
    show('', '')
  })

  return {
    clear,
    turn: (window) => {
      if (accepted === null || window <= accepted.window + 1) return
      show('', `At ${accepted.at} their words were right. A new call needs new words.`)
      accepted = null
    },
  }
}

function sentence(verdict: Verdict): string {
  switch (verdict.kind) {
    case 'theirs':
      return 'These are their words. If you have not read out yours yet, read them out now.'
    case 'used':
      return 'These words were already used, and words are accepted only once. Ask for the next words. Do not trust a person who repeats old words.'
    case 'own':
      return 'These are your own words. A person who repeats your words proves nothing.'
    case 'wrong':
      return 'These are not their words. Do not trust this call.'
    case 'count':
      return count(verdict.found)
    case 'unknown':
      return verdict.suggestions.length > 0
        ? `“${verdict.word}” is not in the word list. Did you hear one of these words?`
        : `“${verdict.word}” is not in the word list. Ask the other person to repeat it.`
  }
}

function count(found: number): string {
  if (found === 0) return 'Type the three words that you heard.'
  return found === 1
    ? 'That is 1 word. Type three words.'
    : `Those are ${found} words. Type three words.`
}
