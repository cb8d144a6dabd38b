/** All people in one list: connections, guests and open invitations. */
import { signal, useComputed, useSignal, type ReadonlySignal } from '@preact/signals'
import { displayedName } from '../../../crypto/encoding/quoted.ts'
import type { Schemas } from '../../data/api.ts'
import { now } from '../../data/clock.ts'
import { useAllConnections } from '../../data/connections.ts'
import { useTags } from '../../data/tags.ts'
import { hrefOf } from '../../shell/router.ts'
import { filled, locale, messages } from '../../text/text.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { SelectField, TextField } from '../../ui/fields.tsx'
import { useMedia } from '../../ui/media.ts'
import { PageFrame } from '../../ui/page.tsx'
import { VirtualList } from '../../ui/virtual-list.tsx'
import { useGuestCodes, useNewestChecks, useSentInvitations, useTrustCards } from './people-data.ts'
import {
  foundRows,
  PEOPLE_FILTERS,
  peopleRows,
  type PeopleFilter,
  type PersonRow,
} from './people-rows.ts'
import { PersonListRow } from './person-list-row.tsx'
import { useStar, type StarAction } from './star-button.tsx'
import { WithdrawDialog } from './withdraw-dialog.tsx'

/** The heights of a row in rem, for its texts beside and below each other. */
const ROW_REM = { wide: 4.6, narrow: 7.6 }
const NARROW = '(max-width: 62rem)'

// The filters stay while the page of a person is shown.
const search = signal('')
const filter = signal<PeopleFilter>('all')
const tag = signal('')

const FILTER_TEXTS = {
  all: 'showAll',
  favorites: 'showFavorites',
  attention: 'showAttention',
  connections: 'showConnections',
  guests: 'showGuests',
  waiting: 'showWaiting',
  ended: 'showEnded',
} as const satisfies Record<PeopleFilter, string>

const FilterFields = ({ tags }: { readonly tags: readonly Schemas['Tag'][] }) => {
  const { people } = messages()
  return (
    <form
      class="people-filters"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
      }}
    >
      <TextField label={people.find} type="search" value={search} />
      <SelectField
        label={people.show}
        value={filter}
        options={PEOPLE_FILTERS.map((one) => [one, people[FILTER_TEXTS[one]]] as const)}
      />
      {tags.length === 0 ? null : (
        <SelectField
          label={people.tag}
          value={tag}
          options={[
            ['', people.anyTag] as const,
            ...tags.map(({ id, name }) => [id, displayedName(name)] as const),
          ]}
        />
      )}
    </form>
  )
}

interface RowActions {
  readonly star: StarAction
  readonly onWithdraw: (invitation: Schemas['Invitation']) => void
}

/** The rows that fit. After a keystroke, only this part is rendered. */
const FoundPeople = (
  of: RowActions & {
    readonly found: ReadonlySignal<readonly PersonRow[]>
    readonly tags: ReadonlyMap<string, Schemas['Tag']>
    readonly since: string | null
  },
) => {
  const { people } = messages()
  const { found, ...row } = of
  const isNarrow = useMedia(NARROW)
  return (
    <>
      <p class="people-count" role="status">
        {found.value.length === 0
          ? people.noneFound
          : filled(people.shown, { count: found.value.length })}
      </p>
      <VirtualList
        items={found.value}
        rowHeight={isNarrow.value ? ROW_REM.narrow : ROW_REM.wide}
        label={people.list}
        keyOf={({ id }) => id}
        row={(one) => <PersonListRow {...row} row={one} />}
      />
    </>
  )
}

const NO_CHECKS = { entries: [], isAll: false }

export const PeopleList = () => {
  const { people, frame } = messages()
  const connections = useAllConnections()
  const guests = useGuestCodes()
  const invitations = useSentInvitations()
  const cards = useTrustCards()
  const tags = useTags()
  const checks = useNewestChecks()
  const star = useStar((changed) => {
    connections.change((all) => new Map(all).set(changed.id, changed))
  })
  const withdrawn = useSignal<Schemas['Invitation'] | null>(null)

  const rows = useComputed(() =>
    connections.data.value === undefined || guests.data.value === undefined
      ? null
      : peopleRows(
          {
            connections: connections.data.value.values(),
            guests: guests.data.value,
            invitations: invitations.data.value ?? [],
            cards: cards.data.value ?? [],
            tags: tags.data.value ?? [],
            checks: checks.data.value ?? NO_CHECKS,
          },
          now.peek(),
          new Intl.Collator(locale(), { numeric: true }),
        ),
  )
  const tagsById = useComputed(() => new Map((tags.data.value ?? []).map((one) => [one.id, one])))
  const found = useComputed(() =>
    foundRows(rows.value ?? [], {
      search: search.value,
      filter: filter.value,
      // The tag may have been deleted.
      tag: tagsById.value.has(tag.value) ? tag.value : '',
    }),
  )
  const failure = useComputed(
    () =>
      [connections, guests, invitations, cards, tags, checks]
        .map((one) => one.failure.value)
        .find((one) => one !== null) ?? null,
  )

  return (
    <PageFrame
      title={frame.people}
      lead={people.lead}
      actions={
        <a class="button main" href={hrefOf('people', 'add')}>
          {people.add}
        </a>
      }
    >
      <FailureNotice of={failure} />
      {rows.value === null ? (
        failure.value === null && <p role="status">{frame.loading}</p>
      ) : rows.value.length === 0 ? (
        <p class="card">{people.empty}</p>
      ) : (
        <div class="people-list">
          <div class="people-failure">
            <FailureNotice of={star.failure} />
          </div>
          <FilterFields tags={tags.data.value ?? []} />
          <FoundPeople
            found={found}
            tags={tagsById.value}
            since={checks.data.value?.entries.at(-1)?.at ?? null}
            star={star}
            onWithdraw={(invitation) => {
              withdrawn.value = invitation
            }}
          />
        </div>
      )}
      {withdrawn.value === null ? null : (
        <WithdrawDialog
          of={withdrawn.value}
          onDone={() => Promise.all([invitations.reload(), connections.reload()])}
          onClose={() => {
            withdrawn.value = null
          }}
        />
      )}
    </PageFrame>
  )
}
