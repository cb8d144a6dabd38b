/** The sender of a request: a token, the command line, or a machine account. */
import { tokenNames } from '../data/token-names.ts'
import { filled, messages } from '../text/text.tsx'
import { Name } from './person-name.tsx'

/** Returns the sender as text. `token` is as in the audit log; null for no recognised caller. */
export function callerText(token: string | null): string {
  const { log } = messages()
  if (token === null) return log.unknownCaller
  if (token === 'command line') return log.commandLine
  if (token.startsWith('machine ')) return log.machine
  return tokenNames.value.get(token) ?? filled(log.token, { end: `…${token.slice(-6)}` })
}

/** Shows the sender of a request, with the whole id as a hint. */
export const CallerName = ({ of }: { readonly of: string | null }) => (
  <span title={of ?? undefined}>
    <Name of={callerText(of)} />
  </span>
)
