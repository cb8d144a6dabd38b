/**
 * Completion for bash 3.2 (the version in macOS) and later.
 *
 * It does not need the package bash-completion.
 */
import {
  type CompletionPoint,
  isWordList,
  quotedForShell as quoted,
  valuesIn,
  wordsOf,
} from './places.ts'

const branch = (patterns: readonly string[], action: string) =>
  `    ${patterns.map(quoted).join(' | ')}) ${action} ;;`

/** Returns one branch for all patterns that have the same action. */
function branches(cases: readonly (readonly [pattern: string, action: string])[]): string {
  const byAction = Map.groupBy(cases, ([, action]) => action)
  return [...byAction]
    .map(([action, of]) =>
      branch(
        of.map(([pattern]) => pattern),
        action,
      ),
    )
    .join('\n')
}

const next = ({ next: of }: CompletionPoint) =>
  of.length === 0 ? '' : ` next=${quoted(of.map(({ word }) => word).join(' '))}`
const words = (list: readonly string[]) => `words=${quoted(list.join(' '))}`

/** What the script does for a value that is not one of several words. */
const ACTIONS = { file: 'files=1', name: 'names=1', other: ':' } as const

/** Returns a script for `source`. */
export function bashScript(places: readonly CompletionPoint[]): string {
  const paths = places.map(({ path }) => path).filter((path) => path !== '')
  const values = valuesIn(places).map(({ path, name, value }) => {
    const several = isWordList(value) ? ' several=1' : ''
    const action = typeof value === 'string' ? ACTIONS[value] : words(wordsOf(value)) + several
    return [`${path} ${name}`, action] as const
  })
  const options = places.map(
    (place) => [place.path, words(place.options.map(({ name }) => name))] as const,
  )
  const args = places
    .map((place) => {
      const own = place.words.length === 0 ? '' : ` ${words(place.words)}`
      return [
        place.path,
        (
          next(place) +
          own +
          (place.file ? ' files=1' : '') +
          (place.names ? ' names=1' : '')
        ).trim(),
      ] as const
    })
    .filter(([, action]) => action !== '')
  return `# Completion of countersignd for bash. For this shell: source <(countersignd completion bash)

_countersignd() {
  local IFS=$' \\t\\n' current previous place='' step next='' words='' files='' names='' several='' head='' last i name typed before
  current=\${COMP_WORDS[COMP_CWORD]}
  previous=\${COMP_WORDS[COMP_CWORD - 1]}
  # bash takes --option=value apart.
  if [[ $current == '=' ]]; then
    current=''
  elif [[ $previous == '=' ]]; then
    previous=\${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    step="$place\${place:+ }\${COMP_WORDS[i]}"
    case "$step" in
${branch(paths, 'place=$step').replace(/^/gm, '  ')}
      *) break ;;
    esac
  done
  case "$place $previous" in
${branches(values)}
    *)
      if [[ $current == -* ]]; then
        case "$place" in
${branches(options).replace(/^/gm, '      ')}
        esac
      else
        case "$place" in
${branches(args).replace(/^/gm, '      ')}
        esac
      fi
      ;;
  esac
  # What leads on stands right behind the words that led here.
  ((i == COMP_CWORD)) && words="$next $words"
  last=$current
  if [[ -n $several && $current == *,* && $current != *[!a-z,-]* ]]; then
    head=\${current%,*},
    last=\${current##*,}
  fi
  COMPREPLY=($(compgen -W "$words" -P "$head" -- "$last"))
  if [[ -n $names ]]; then
    typed=\${current//[\\"\\'\\\\]/}
    before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
    while IFS= read -r name; do
      [[ $name == "$typed"* ]] || continue
      if [[ $current != [\\"\\']* ]]; then
        printf -v name %q "$name"
      elif [[ $name == *[\\"\\'\\\\\\\`\\$!]* ]]; then
        # Inside quotes, bash adds nothing, so the name would end them, or run as a command.
        continue
      fi
      COMPREPLY+=("$name")
    done < <(countersignd complete-names -- "\${before[@]//[\\"\\'\\\\]/}" 2>/dev/null)
  fi
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    while IFS= read -r name; do
      COMPREPLY+=("$name")
    done < <(compgen -f -- "$current")
  fi
}

complete -F _countersignd countersignd
`
}
