/**
 * Parses the variables in a property list of launchd.
 * Accepts the format that "service install" and an editor write, and rejects others.
 */
import { StartError } from '../../errors.ts'
import { unescaped } from './xml.ts'

const DICTIONARY = /<key>EnvironmentVariables<\/key>\s*<dict>((?:(?!<dict>)[^])*?)<\/dict>/
const PAIR = /\s*<key>([^<]*)<\/key>\s*<string>([^<]*)<\/string>\s*/y

/**
 * Returns the EnvironmentVariables (launchd.plist(5)); none for an empty file.
 * @param path for the message
 * @throws StartError configuration for a list that cannot be parsed with certainty
 */
export function fromPropertyList(content: Uint8Array, path: string): NodeJS.ProcessEnv {
  const text = Buffer.from(content).toString('utf8')
  const doubt = () =>
    new StartError(
      'configuration',
      `The EnvironmentVariables of ${path} cannot be read with certainty, and so not which state folder the service has. ` +
        'Write them as plain keys and strings, without comments, and run this again.',
    )
  if (text === '') return {}
  const [, ...more] = text.split('EnvironmentVariables')
  if (!/^\s*<\?xml/.test(text) || /<!--|<!\[CDATA|<!ENTITY/.test(text) || more.length > 1)
    throw doubt()
  if (more.length === 0) return {}
  const inner = DICTIONARY.exec(text)?.[1]
  if (inner === undefined) throw doubt()
  const found: NodeJS.ProcessEnv = {}
  let at = 0
  while (at < inner.trimEnd().length) {
    PAIR.lastIndex = at
    const [whole = '', name = '', value = ''] = PAIR.exec(inner) ?? []
    const [key, string] = [unescaped(name), unescaped(value)]
    if (whole === '' || key === null || string === null) throw doubt()
    found[key] = string
    at += whole.length
  }
  return found
}
