/**
 * Writes text as roff(7) with the macros of man(7), in ASCII: characters that have a meaning of
 * their own are escaped, and each sentence begins a line.
 */

/** Characters by their names in groff_char(7), which also terminals without Unicode can show. */
const CHARACTERS = {
  '\\': '\\(rs',
  '`': '\\(ga',
  '^': '\\(ha',
  '~': '\\(ti',
  '…': '...',
  '→': '\\(->',
  '–': '\\(en',
  '—': '\\(em',
  '“': '\\(lq',
  '”': '\\(rq',
  '’': '\\(cq',
  '×': '\\(mu',
  '≤': '\\(<=',
  '≥': '\\(>=',
  '·': '\\(pc',
  '§': '\\(sc',
}

/** White space is one blank, as in filled text. */
const escaped = (text) =>
  text
    .replaceAll(/\s+/g, ' ')
    .replaceAll(
      /[\\`^~]|[^\x20-\x7e]/gu,
      (one) =>
        CHARACTERS[one] ?? `\\[u${one.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
    )

/** Returns text that is typed or printed literally: its hyphens and quotes can be copied. */
export const literal = (text) => escaped(text).replaceAll('-', '\\-').replaceAll("'", '\\(aq')

/** Returns prose, in which a hyphen between letters is a hyphen and not a minus. */
export const prose = (text) =>
  escaped(text)
    .replaceAll(/(?<![A-Za-z])-|-(?![A-Za-z])/g, '\\-')
    .replaceAll(/(?<![A-Za-z])'|'(?![A-Za-z])/g, '\\(aq')

/** Words of names and commands are not divided. */
export const bold = (text) => `\\fB${literal(text).replaceAll(/(?<![^ ])(?=[a-z]{3})/g, '\\%')}\\fR`
export const italic = (text) => `\\fI${literal(text)}\\fR`

/** Returns an argument of a macro. */
export const argument = (text) => `"${literal(text).replaceAll('"', '\\(dq')}"`

/** A line of text must not begin as a macro. */
const guarded = (line) => (/^[.']/.test(line) ? `\\&${line}` : line)

const WIDTH = 78

/** Returns filled text as lines: a new one for each sentence, and where one would be too long. */
export function filled(text) {
  const lines = []
  let line = ''
  const end = () => {
    if (line !== '') lines.push(guarded(line))
    line = ''
  }
  for (const word of text.split(/\s+/)) {
    if (word === '') continue
    if (line !== '' && line.length + 1 + word.length > WIDTH) end()
    line = line === '' ? word : `${line} ${word}`
    if (/[.!?]["')]*(\\fR)?["')]*$/.test(word)) end()
  }
  end()
  return lines
}

const literalOrBlank = (part) => (/^ *$/.test(part) ? part : literal(part))

/** Returns lines that are shown as they are, with their blanks. */
export const verbatim = (text) => [
  '.sp',
  '.RS 4',
  '.EX',
  ...text.split('\n').map((line) => guarded(line.split(/( +)/).map(literalOrBlank).join(''))),
  '.EE',
  '.RE',
]

/** Returns a paragraph with a tag, which is roff already. */
export const tagged = (tag, lines) => ['.TP', guarded(tag), ...lines]

/** Returns the text of a page. A heading is the break before its first paragraph. */
export function page({ name, section, date, version, lines }) {
  const head = [
    '.\\" Made by build/man/pages.mjs. Change the text at its source.',
    `.TH ${argument(name.toUpperCase())} ${section} "${date}" ${argument(`Countersign ${version}`)} ${argument('Countersign')}`,
    // Names of commands and settings are not divided.
    '.nh',
    '.ad l',
  ]
  const kept = lines.filter(
    (line, at) => line !== '.PP' || !/^\.(S[HS]|PP)\b/.test(lines[at - 1] ?? '.SH'),
  )
  return `${[...head, ...kept].join('\n')}\n`
}
