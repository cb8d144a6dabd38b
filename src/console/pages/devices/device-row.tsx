/** One device of the account, with its session and what can be done with it. */
import type { ComponentChildren } from 'preact'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { hrefOf } from '../../shell/router.ts'
import { messages, MessageText } from '../../text/text.tsx'
import { CommandText } from '../../ui/command.tsx'
import { ConfirmedButton } from '../../ui/confirmed-button.tsx'
import { Name } from '../../ui/person-name.tsx'
import { When } from '../../ui/when.tsx'

type Device = Schemas['Device']
type Session = Schemas['Session']

interface RowProps {
  readonly device: Device
  /** The sessions of all devices; an embedded account has none. */
  readonly sessions: readonly Session[]
  /** Called after an action, with a sentence about its result. */
  readonly onDone: (result: ComponentChildren) => Promise<void>
}

/** Returns the state of a device in words. */
function stateOf({ device, sessions }: RowProps): string {
  const texts = messages().devices
  if (device.state === 'pending') return texts.waits
  if (sessions.length === 0) return texts.active
  const hasSession = sessions.some(({ device_id }) => device_id === device.id)
  return hasSession ? texts.signedIn : texts.signedOut
}

const Facts = ({ device, sessions }: RowProps) => {
  const texts = messages().devices
  const { created_at, last_seen_at, platform, state } = device
  const session =
    state === 'active' ? sessions.find(({ device_id }) => device_id === device.id) : undefined
  const facts = [
    texts[`platform_${platform}`],
    <MessageText
      key="added"
      of={state === 'pending' ? texts.asked : texts.added}
      values={{ when: <When at={created_at} /> }}
    />,
    <MessageText key="seen" of={texts.seen} values={{ when: <When at={last_seen_at} /> }} />,
    ...(session === undefined
      ? []
      : [
          <MessageText
            key="session"
            of={texts.session}
            values={{ when: <When at={session.created_at} /> }}
          />,
        ]),
  ]
  return (
    <p class="facts">
      {facts.map((fact, at) => (
        <span key={at}>{fact}</span>
      ))}
    </p>
  )
}

const WaitingAnswers = ({ device: { id, name }, onDone }: RowProps) => {
  const texts = messages().devices
  return (
    <>
      <a class="button main" href={hrefOf('devices', 'approve', id)}>
        {texts.approve}
      </a>
      <ConfirmedButton
        label={texts.decline}
        title={texts.declineTitle}
        confirm={texts.declineTitle}
        work={async () => {
          await dataOf(api.DELETE('/api/v1/devices/{id}', { params: { path: { id } } }))
          await onDone(<MessageText of={texts.declined} values={{ name: <Name of={name} /> }} />)
        }}
      >
        {texts.declineText}
      </ConfirmedButton>
    </>
  )
}

const ActiveAnswers = ({ device, sessions, onDone }: RowProps) => {
  const texts = messages().devices
  const { id } = device
  const name = <Name of={device.name} />
  const session = sessions.find(({ device_id }) => device_id === id)
  return (
    <>
      {session === undefined ? null : (
        <ConfirmedButton
          label={texts.endSession}
          title={texts.endSession}
          confirm={texts.endSession}
          work={async () => {
            const path = { params: { path: { id: session.id } } }
            await dataOf(api.DELETE('/api/v1/sessions/{id}', path))
            await onDone(<MessageText of={texts.sessionEnded} values={{ name }} />)
          }}
        >
          {name}: {texts.endSessionText}
        </ConfirmedButton>
      )}
      <ConfirmedButton
        label={texts.revoke}
        kind="danger"
        title={texts.revokeTitle}
        confirm={texts.revokeTitle}
        work={async () => {
          await dataOf(api.DELETE('/api/v1/devices/{id}', { params: { path: { id } } }))
          await onDone(<MessageText of={texts.revoked} values={{ name }} />)
        }}
      >
        {name}: {texts.revokeText} {texts.revokeRecovery}
      </ConfirmedButton>
    </>
  )
}

export const DeviceRow = (of: RowProps) => {
  const texts = messages().devices
  const { current, name, state } = of.device
  return (
    <li class="device">
      <div>
        <h2>
          <Name of={name} />
        </h2>
        {current ? (
          <span class="badge" data-kind="ok">
            {texts.thisOne}
          </span>
        ) : null}
        <span class="badge" data-kind={state === 'pending' ? 'warn' : undefined}>
          {stateOf(of)}
        </span>
      </div>
      <Facts {...of} />
      <div class="answers">
        {current ? (
          <span class="hint">
            {texts.signOut} <CommandText of="countersignd logout" />
          </span>
        ) : state === 'pending' ? (
          <WaitingAnswers {...of} />
        ) : (
          <ActiveAnswers {...of} />
        )}
      </div>
    </li>
  )
}
