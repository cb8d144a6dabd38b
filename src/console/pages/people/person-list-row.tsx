/** One row of the list of people. */
import type { Schemas } from '../../data/api.ts'
import { thisMinute } from '../../data/clock.ts'
import { hrefOf } from '../../shell/router.ts'
import { displayedName } from '../../../crypto/encoding/quoted.ts'
import { MessageText, filled, messages, timeExact, timeRelative } from '../../text/text.tsx'
import { Name, PersonNameText } from '../../ui/person-name.tsx'
import type { LastVerified, PersonRow } from './people-rows.ts'
import { PersonStateText } from './person-state.tsx'
import { StarButton, type StarAction } from './star-button.tsx'

const SeenText = ({ of, since }: { readonly of: LastVerified; readonly since: string | null }) => {
  const { people } = messages()
  if (of === 'never') return <>{people.neverVerified}</>
  if (of === 'unknown')
    return since === null ? null : (
      <>{filled(people.notVerifiedSince, { time: timeRelative(since, thisMinute.value) })}</>
    )
  return (
    <time dateTime={of.at} title={timeExact(of.at)}>
      {filled(people.verified, { time: timeRelative(of.at, thisMinute.value) })}
    </time>
  )
}

/** What stands below a name: what the person is. */
const About = ({ of }: { readonly of: PersonRow }) => {
  const { people } = messages()
  if (of.kind === 'invitation')
    return (
      <MessageText
        of={people.invitedTo}
        values={{ connection: <Name of={of.invitation.connection_name} /> }}
      />
    )
  if (of.kind === 'guest') {
    const { external_member: external } = of.guest
    return external === null ? (
      <>{people.guest}</>
    ) : (
      <MessageText of={people.guestFor} values={{ name: <Name of={external.display_name} /> }} />
    )
  }
  const { connection, other, invitation } = of
  if (other !== null) {
    const isPlain =
      other.display_name === of.name &&
      other.name_source !== 'self' &&
      other.name_source !== 'server'
    return isPlain && other.name_marks.length === 0 ? null : <PersonNameText of={other} />
  }
  if (invitation !== null)
    return <Name of={invitation.to.email ?? invitation.to.display_name ?? ''} />
  if (connection.kind === 'direct') return null
  const count = connection.members.filter(({ state }) => state === 'active').length
  return <>{filled(people.group, { count })}</>
}

const KEYS = {
  confirmed: 'keysConfirmed',
  unchanged: 'keysUnchanged',
  recovered: 'keysRecovered',
} as const

/** The states in which no words can have been checked yet. */
const NOT_YET = { waitingAnswer: true, approved: true, alone: true }

const hrefOfRow = (row: PersonRow): string =>
  hrefOf('people', row.kind === 'invitation' ? row.invitation.connection_id : row.id)

/**
 * Shows a row.
 * @param of `since`: the time of the oldest check that was read; null if there is none
 */
export const PersonListRow = (of: {
  readonly row: PersonRow
  readonly tags: ReadonlyMap<string, Schemas['Tag']>
  readonly since: string | null
  readonly star: StarAction
  readonly onWithdraw: (invitation: Schemas['Invitation']) => void
}) => {
  const { people } = messages()
  const { row } = of
  const tags =
    row.kind === 'connection' ? row.connection.tag_ids.flatMap((id) => of.tags.get(id) ?? []) : []
  const invitation = row.kind === 'guest' ? null : row.invitation
  const until = row.kind === 'guest' ? row.guest.expires_at : (invitation?.expires_at ?? undefined)
  const keys =
    row.kind === 'connection' && row.keys !== null && row.keys !== 'changed_unverified'
      ? people[KEYS[row.keys]]
      : null
  return (
    <div class="person-row">
      {row.kind === 'connection' ? (
        <StarButton connection={row.connection} action={of.star} />
      ) : (
        <span />
      )}
      <div class="person-who">
        <a href={hrefOfRow(row)}>
          <Name of={row.name} />
        </a>
        {tags.map((tag) => (
          <span class="tag" key={tag.id}>
            <i style={{ background: tag.color ?? 'currentcolor' }} />
            <Name of={tag.name} />
          </span>
        ))}
        <span class="person-about">
          <About of={row} />
        </span>
      </div>
      <div class="person-how">
        <PersonStateText state={row.state} until={until} />
        <span class="person-about">
          {row.state === 'guestReady' && until !== undefined ? (
            <>{filled(people.guestEnds, { time: timeRelative(until, thisMinute.value) })} · </>
          ) : null}
          {row.kind === 'invitation' || row.state in NOT_YET ? null : (
            <SeenText of={row.verified} since={of.since} />
          )}
          {keys === null ? null : <> · {keys}</>}
        </span>
      </div>
      {invitation !== null && invitation.state === 'pending' ? (
        <button
          type="button"
          class="small"
          aria-label={filled(people.withdrawOf, { name: displayedName(row.name) })}
          onClick={() => of.onWithdraw(invitation)}
        >
          {people.withdraw}
        </button>
      ) : (
        <span />
      )}
    </div>
  )
}
