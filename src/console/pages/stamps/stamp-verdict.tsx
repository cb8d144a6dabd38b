/** The verdict about a stamp: who signed what the user has, or why that cannot be said. */
import { Fragment, type ComponentChild } from 'preact'
import type { Schemas } from '../../data/api.ts'
import { MessageText, messages, timeExact } from '../../text/text.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { PersonNameText } from '../../ui/person-name.tsx'
import { ServerText } from '../../ui/server-text.tsx'

type Verdict = Schemas['StampVerdict']
type Judged = NonNullable<Verdict['stamp']>

/** Refusals with sentences of their own. */
const REFUSALS = ['other_stamp', 'other_id', 'other_root', 'revoked_key', 'bad_signature'] as const

/** Returns the signer with the source of the name; null if no name is known. */
const signerNameOf = ({ display_name, name_source, name_marks }: Judged): ComponentChild =>
  display_name === null || name_source === null ? null : (
    <PersonNameText of={{ display_name, name_source, name_marks }} />
  )

/** What a valid stamp proves, a sentence each. */
const Proof = ({ of }: { readonly of: Judged }) => {
  const { stamps } = messages()
  const { assurance_level: assurance } = of
  return (
    <>
      <p>
        {of.received_at === null ? (
          <>
            <MessageText of={stamps.signedThen} values={{ time: timeExact(of.signed_at) }} />{' '}
            {stamps.noReceipt}
          </>
        ) : (
          <MessageText of={stamps.receivedThen} values={{ time: timeExact(of.received_at) }} />
        )}
      </p>
      <p>
        {stamps.proves} {assurance === 'device' ? null : stamps[assurance]}
      </p>
      {of.reset === null ? null : <p>{stamps[of.reset]}</p>}
    </>
  )
}

const ValidTitle = ({ of }: { readonly of: Judged }) => {
  const { stamps } = messages()
  const name = signerNameOf(of)
  if (of.signer === 'own') return <>{stamps.own}</>
  return of.signer === 'root' || name === null ? (
    <>{stamps.validRoot}</>
  ) : (
    <MessageText of={stamps.valid} values={{ name }} />
  )
}

/** The facts about a stamp, for those who need them. */
export const StampFactList = ({ of }: { readonly of: Judged }) => {
  const { stamps } = messages()
  const rows: readonly (readonly [string, string])[] = [
    [stamps.root, of.root],
    [stamps.account, of.account_id],
    [stamps.device, of.device_id],
    [stamps.hash, of.sha256],
  ]
  return (
    <details>
      <summary>{stamps.technical}</summary>
      <dl>
        {of.context === null ? null : (
          <>
            <dt>{stamps.context}</dt>
            <dd>
              <ServerText text={of.context} />
            </dd>
          </>
        )}
        <dt>{stamps.signedAt}</dt>
        <dd>{timeExact(of.signed_at)}</dd>
        {rows.map(([name, value]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>
              <Copyable label={name} value={value}>
                <code class="long" translate={false}>
                  {value}
                </code>
              </Copyable>
            </dd>
          </Fragment>
        ))}
      </dl>
    </details>
  )
}

const Unsure = ({ of }: { readonly of: Verdict }) => {
  const { stamps } = messages()
  if (of.reason === 'not_found')
    return (
      <>
        <h2>{stamps.not_found}</h2>
        <p>{stamps.not_foundNext}</p>
      </>
    )
  if (of.reason === 'other_server')
    return (
      <>
        <h2>{stamps.other_server}</h2>
        <p>{stamps.other_serverNext}</p>
      </>
    )
  const name = of.stamp === null ? null : signerNameOf(of.stamp)
  return (
    <>
      <h2>{stamps.signer_unknown}</h2>
      {name === null ? null : (
        <p>
          <MessageText of={stamps.signerClaims} values={{ name }} />
        </p>
      )}
      <p>{stamps.signer_unknownNext}</p>
    </>
  )
}

const Refused = ({ reason }: { readonly reason: string }) => {
  const { stamps } = messages()
  if (reason === 'digest_mismatch')
    return (
      <>
        <h2>{stamps.digest_mismatch}</h2>
        <p>{stamps.digest_mismatchNext}</p>
      </>
    )
  const known = REFUSALS.find((one) => one === reason)
  return (
    <>
      <h2>{stamps.refused}</h2>
      <p>
        {known === undefined ? (
          <MessageText of={stamps.rule} values={{ reason: <code>{reason}</code> }} />
        ) : (
          stamps[known]
        )}
      </p>
    </>
  )
}

/** Shows a verdict in the full width of the page. Screen readers announce it at once. */
export const StampVerdictBox = ({ of }: { readonly of: Verdict | null }) => (
  <div role="alert">
    {of === null ? null : (
      <div
        class="verdict"
        data-kind={
          of.valid ? (of.stamp?.reset === 'anew' ? 'warn' : 'ok') : of.conclusive ? 'bad' : 'warn'
        }
      >
        {of.valid && of.stamp !== null ? (
          <>
            <h2>
              <ValidTitle of={of.stamp} />
            </h2>
            <Proof of={of.stamp} />
          </>
        ) : of.conclusive ? (
          <Refused reason={of.reason ?? ''} />
        ) : (
          <Unsure of={of} />
        )}
      </div>
    )}
  </div>
)
