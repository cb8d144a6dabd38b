/** Completion for fish. */
import { type CompletionPoint, type Option, isWordList, wordsOf } from './places.ts'

/** Returns a text in single quotes for fish, in which a backslash escapes the next character. */
const quoted = (text: string): string => `'${text.replaceAll(/[\\']/g, '\\$&')}'`

/** The names that can follow the words before the cursor. */
const NAMES = quoted('(__countersignd_names)')

const begin = (path: string, where = 'at') =>
  `complete -c countersignd -n ${quoted(`__countersignd_${where} ${quoted(path)}`)}`

function ofOption(path: string, { name, value }: Option): string {
  const long = `${begin(path)} -l ${name.slice(2)}`
  if (value === null) return long
  if (value === 'file') return `${long} -r -F`
  if (value === 'name') return `${long} -x -a ${NAMES}`
  if (value === 'other') return `${long} -x`
  const words = wordsOf(value).join(' ')
  return `${long} -x -a ${quoted(isWordList(value) ? `(__countersignd_several ${words})` : words)}`
}

const ofPlace = ({ path, next, options, words, file, names }: CompletionPoint): string[] => [
  ...next.map(({ word, summary }) => `${begin(path, 'right_at')} -a ${word} -d ${quoted(summary)}`),
  ...(words.length === 0 ? [] : [`${begin(path)} -a ${quoted(words.join(' '))}`]),
  ...(file ? [`${begin(path)} -F`] : []),
  ...(names ? [`${begin(path)} -a ${NAMES}`] : []),
  ...options.map((option) => ofOption(path, option)),
]

/** Returns a script for `source`. */
export function fishScript(places: readonly CompletionPoint[]): string {
  const paths = places.map(({ path }) => path).filter((path) => path !== '')
  return `# Completion of countersignd for fish. For this shell: countersignd completion fish | source

set -g __countersignd_places ${paths.map(quoted).join(' ')}

# Whether the words before the cursor lead to this place.
function __countersignd_at
    set -l words (commandline -opc)
    set -l place ''
    for word in $words[2..]
        set -l step (string trim -l -- "$place $word")
        contains -- "$step" $__countersignd_places; or break
        set place $step
    end
    test "$place" = "$argv[1]"
end

# Whether nothing stands between them and the cursor, besides.
function __countersignd_right_at
    set -l words (commandline -opc)
    test "$words[2..]" = "$argv[1]"
end

# The names that can follow the words before the cursor.
function __countersignd_names
    set -l words (commandline -opc)
    set -l option (string match -r -- '^--[^=]+(?==)' (commandline -ct))
    countersignd complete-names -- $words[2..] $option 2>/dev/null
end

# Each word, after the words that are already in the list.
function __countersignd_several
    set -l head (string match -r -- '^(?:--[^=]+=)?(.*,)' (commandline -ct))[2]
    for word in $argv
        echo "$head$word"
    end
end

complete -c countersignd -e
complete -c countersignd -f
${places.flatMap(ofPlace).join('\n')}
`
}
