/** What the scope of the session does not allow, with the command for one that does. */
import { sessionScope } from '../session/session.ts'
import { messages } from '../text/text.tsx'
import { CommandText } from './command.tsx'

const RANK = { read: 0, write: 1, full: 2 } as const

/** Returns whether the session has this scope or a wider one. */
export const hasScope = (wanted: keyof typeof RANK): boolean =>
  RANK[sessionScope.value] >= RANK[wanted]

/** Shows which command is needed if the session does not have a scope; otherwise nothing. */
export const RightsNotice = ({ needs }: { readonly needs: 'write' | 'full' }) => {
  if (hasScope(needs)) return null
  const { common } = messages()
  return (
    <p class="notice" data-kind="warn">
      {needs === 'full' ? common.needsFull : common.needsWrite}{' '}
      <CommandText of={needs === 'full' ? 'countersignd open --full' : 'countersignd open'} />
    </p>
  )
}
