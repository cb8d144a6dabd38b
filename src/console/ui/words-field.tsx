/**
 * Inputs for words that a person hears: one for each word. A complete word moves the focus to the
 * next input, because no word of the list is the beginning of another one.
 */
import { useSignal, type Signal } from '@preact/signals'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { isWord } from '../../crypto/words.ts'
import { filled, messages } from '../text/text.tsx'
import { completionsOf, lettersOf, similarWords, typedWords } from '../text/word-input.ts'

interface WordsFieldProps {
  readonly label: string
  /** The typed words, one for each input. */
  readonly value: Signal<readonly string[]>
  readonly autofocus?: boolean
  readonly disabled?: boolean
}

/** Returns empty inputs for this number of words. */
export const emptyWords = (count: number): readonly string[] => Array<string>(count).fill('')

/** Returns whether every input has a word of the list. */
export const areWords = (words: readonly string[]): boolean => words.every(isWord)

/** A text that is no word of the list, with similar words to choose from. */
const UnknownWord = (of: {
  readonly word: string
  readonly onChoose: (similar: string) => void
}) => {
  const { common } = messages()
  const similar = similarWords(of.word)
  const template = similar.length === 0 ? common.noSuchWord : common.unknownWord
  return (
    <p class="near">
      {filled(template, { word: of.word })}
      {similar.map((one) => (
        <button
          key={one}
          type="button"
          class="small chip"
          lang="en"
          translate={false}
          onClick={() => {
            of.onChoose(one)
          }}
        >
          {one}
        </button>
      ))}
    </p>
  )
}

export const WordsField = ({ label, value, autofocus, disabled }: WordsFieldProps) => {
  const { common } = messages()
  const id = useId()
  const inputs = useRef<(HTMLInputElement | null)[]>([])
  /** The input with the focus, and the chosen completion of it. */
  const active = useSignal<{ readonly at: number; readonly choice: number } | null>(null)
  /** The inputs that the user has left. Their text should be a word. */
  const left = useSignal<ReadonlySet<number>>(new Set())
  const count = value.value.length

  // Before the inputs are painted, so that no key that the user presses after seeing them is lost.
  useLayoutEffect(() => {
    if (autofocus === true) inputs.current[0]?.focus()
  }, [])

  const focus = (at: number) => inputs.current[at]?.focus()

  /** Fills inputs from this one on, and moves the focus behind the last complete word. */
  const fill = (at: number, words: readonly string[]) => {
    const next = [...value.value]
    words.slice(0, count - at).forEach((word, i) => {
      next[at + i] = word
    })
    value.value = next
    const open = next.findIndex((word, i) => i >= at && !isWord(word))
    if (open === -1) focus(count - 1)
    else if (open > at) focus(open)
  }

  const onInput = (at: number, typed: string) => {
    active.value = { at, choice: -1 }
    left.value = new Set([...left.value].filter((one) => one !== at))
    const words = typedWords(typed)
    if (words.length > 1) fill(at, words)
    else fill(at, [lettersOf(typed)])
  }

  const onKeyDown = (event: KeyboardEvent, at: number) => {
    const completions = completionsOf(value.value[at]!)
    const choice = active.value?.choice ?? -1
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined && completions.length > 0) {
      event.preventDefault()
      active.value = { at, choice: (choice + step + completions.length) % completions.length }
      return
    }
    const word = value.value[at]!
    const isChoosing = event.key === 'Enter' || event.key === ' '
    const chosen = completions[choice] ?? (completions.length === 1 ? completions[0] : undefined)
    if (isChoosing && chosen !== undefined) {
      event.preventDefault()
      fill(at, [chosen])
      return
    }
    if (isChoosing && word !== '' && !isWord(word)) {
      event.preventDefault()
      // Several words begin like this: the next key chooses one. If none does, similar ones show.
      if (completions.length > 0) active.value = { at, choice: 0 }
      else left.value = new Set([...left.value, at])
      return
    }
    // After a complete word, the focus has moved already.
    if (event.key === ' ') event.preventDefault()
    if (event.key === 'Escape') active.value = null
    if (event.key === 'Backspace' && value.value[at] === '' && at > 0) {
      event.preventDefault()
      focus(at - 1)
    }
  }

  return (
    <fieldset class="words-field">
      <legend>{label}</legend>
      <div class="word-inputs">
        {value.value.map((word, at) => {
          const completions =
            active.value?.at === at && disabled !== true ? completionsOf(word) : []
          const choice = active.value?.choice ?? -1
          const isWrong = left.value.has(at) && word !== '' && !isWord(word)
          return (
            <div class="word-input" key={at}>
              <input
                ref={(input) => {
                  inputs.current[at] = input
                }}
                type="text"
                role="combobox"
                aria-label={filled(common.wordOf, { number: at + 1, count })}
                aria-autocomplete="list"
                aria-expanded={completions.length > 0}
                aria-controls={`${id}-list-${at}`}
                aria-activedescendant={choice >= 0 ? `${id}-${at}-${choice}` : undefined}
                aria-invalid={isWrong}
                lang="en"
                translate={false}
                autocomplete="off"
                autocapitalize="none"
                spellcheck={false}
                enterkeyhint={at === count - 1 ? 'go' : 'next'}
                disabled={disabled}
                value={word}
                onInput={(event) => {
                  onInput(at, event.currentTarget.value)
                  // The signal may be unchanged although the text had other characters.
                  event.currentTarget.value = value.value[at]!
                }}
                onKeyDown={(event) => {
                  onKeyDown(event, at)
                }}
                onFocus={() => {
                  active.value = { at, choice: -1 }
                }}
                onBlur={() => {
                  if (active.value?.at === at) active.value = null
                  left.value = new Set([...left.value, at])
                }}
              />
              <ul
                id={`${id}-list-${at}`}
                role="listbox"
                aria-label={common.completions}
                hidden={completions.length === 0}
              >
                {completions.map((completion, i) => (
                  <li
                    key={completion}
                    id={`${id}-${at}-${i}`}
                    role="option"
                    lang="en"
                    translate={false}
                    aria-selected={i === choice}
                    // Before the input loses the focus.
                    onPointerDown={(event) => {
                      event.preventDefault()
                      fill(at, [completion])
                    }}
                  >
                    {completion}
                  </li>
                ))}
              </ul>
            </div>
          )
        })}
      </div>
      <div role="status">
        {value.value.map((word, at) =>
          left.value.has(at) && word !== '' && !isWord(word) ? (
            <UnknownWord
              key={at}
              word={word}
              onChoose={(similar) => {
                fill(at, [similar])
              }}
            />
          ) : null,
        )}
      </div>
    </fieldset>
  )
}
