/** The page without a session: how to open one. */
import { sessionState } from '../session/session.ts'
import { MessageText, messages } from '../text/text.tsx'
import { CommandText } from '../ui/command.tsx'

export const SignedOut = () => {
  const { frame } = messages()
  const state = sessionState.value
  if (state === 'starting') return <p role="status">{frame.loading}</p>
  const lead =
    state === 'away' ? (
      <MessageText
        of={frame.away}
        values={{ start: <code translate={false}>countersignd serve</code> }}
      />
    ) : (
      {
        absent: frame.absent,
        refused: frame.refused,
        unsupported: frame.unsupported,
        locked: frame.locked,
        idle: frame.idle,
        ended: frame.ended,
        open: '',
      }[state]
    )
  return (
    <main class="gate">
      <h1>{state === 'locked' || state === 'idle' ? frame.lockedTitle : 'Countersign'}</h1>
      <p role={state === 'absent' ? undefined : 'alert'}>{lead}</p>
      <p>
        <CommandText of="countersignd open" />
      </p>
      <p>
        <a href="/api/v1/docs">{frame.docs}</a>
      </p>
    </main>
  )
}
