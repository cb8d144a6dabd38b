/**
 * Completion for zsh.
 *
 * The script is sourced after compinit, or stored as `_countersignd` in a folder of `fpath`.
 */
import {
  type CompletionPoint,
  isWordList,
  quotedForShell as quoted,
  valuesIn,
  wordsOf,
} from './places.ts'

const list = (name: string, items: readonly string[]) => `${name}=(${items.map(quoted).join(' ')})`

/** Returns a word and its description in the format of `_describe`. */
const described = (word: string, summary: string) => `${word}:${summary}`

function ofPlace({ path, next, options, words, file, names }: CompletionPoint): string {
  const steps = [
    ...(next.length === 0
      ? []
      : [
          list(
            'next',
            next.map(({ word, summary }) => described(word, summary)),
          ),
        ]),
    list(
      'options',
      options.map(({ name }) => name),
    ),
    ...(words.length === 0 ? [] : [list('values', words)]),
    ...(file ? ['files=1'] : []),
    ...(names ? ['names=1'] : []),
  ]
  return `    ${quoted(path)})\n${steps.map((step) => `      ${step}\n`).join('')}      ;;`
}

/** What the script does for a value that is not one of several words. */
const ACTIONS = { file: 'files=1', name: 'names=1', other: ':' } as const

/** Returns the script. */
export function zshScript(places: readonly CompletionPoint[]): string {
  const values = valuesIn(places).map(({ path, name, value }) => {
    const several = isWordList(value) ? `; compset -P '*,'` : ''
    const action =
      typeof value === 'string' ? ACTIONS[value] : list('values', wordsOf(value)) + several
    return `    ${quoted(`${path} ${name}`)}) ${action} ;;`
  })
  const paths = places.map(({ path }) => quoted(path)).filter((path) => path !== "''")
  return `#compdef countersignd
# Completion of countersignd for zsh. After compinit: source <(countersignd completion zsh)

_countersignd() {
  local current=$words[CURRENT] previous=$words[CURRENT-1] place='' step
  local -a next options values before
  local -i i files=0 names=0
  if [[ $current == --*=* ]]; then
    previous=\${current%%=*}
    compset -P '*='
  fi
  for ((i = 2; i < CURRENT; i++)); do
    step="$place\${place:+ }$words[i]"
    case "$step" in
      ${paths.join(' | ')}) place=$step ;;
      *) break ;;
    esac
  done
  case "$place $previous" in
${values.join('\n')}
    *)
      case "$place" in
${places.map(ofPlace).join('\n').replace(/^/gm, '    ')}
      esac
      ;;
  esac
  if [[ $current == -* ]] && ((\${#options})); then
    compadd -- $options
    return
  fi
  # What leads on stands right behind the words that led here.
  ((i == CURRENT && \${#next})) && _describe -t commands command next
  ((\${#values})) && compadd -- $values
  if ((names)); then
    before=("\${(@Q)words[2,CURRENT-1]}")
    [[ $current == --*=* ]] && before+=($previous)
    values=("\${(@f)$(countersignd complete-names -- "\${(@)before}" 2>/dev/null)}")
    compadd -- "\${(@)values:#}"
  fi
  ((files)) && _files
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  _countersignd "$@"
elif (($+functions[compdef])); then
  compdef _countersignd countersignd
fi
`
}
