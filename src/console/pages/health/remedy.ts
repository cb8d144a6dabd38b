/** The command in a remedy, which the user copies. */

/** A remedy: its text, and the command with which it ends, if there is one. */
export interface Remedy {
  readonly text: string
  readonly command: string | null
}

/** The programs of remedies. */
const PROGRAMS = 'countersignd|sudo|kill|rm|chmod|chown|export|unset|sqlite3|loginctl|systemctl'
/** Words that continue a sentence around commands. */
const GOES_ON = / \(|[,;] (?:or|if|then) /
const AT_END = new RegExp(String.raw`^(?:(.*): )?((?:${PROGRAMS}) .*[^.])$`, 's')

/** Separates the command at the end of a remedy from the text before it. */
export function remedyOf(remedy: string): Remedy {
  const [, text = '', command] = AT_END.exec(remedy) ?? []
  if (command === undefined || GOES_ON.test(remedy)) return { text: remedy, command: null }
  return { text: text === '' ? '' : `${text}:`, command }
}
