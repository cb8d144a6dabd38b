/** The page of a connection: words, members, keys, tags, checks, and the end of it. */
import { useSignal } from '@preact/signals'
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { api, dataOf, type Schemas } from '../../../data/api.ts'
import { useResource } from '../../../data/resource.ts'
import { hrefOf } from '../../../shell/router.ts'
import { messages } from '../../../text/text.tsx'
import { FailureNotice } from '../../../ui/failure.tsx'
import { NoticeBox } from '../../../ui/notice.tsx'
import { Loaded, PageFrame } from '../../../ui/page.tsx'
import { CheckHistory } from '../check-history.tsx'
import { ConnectionEnd } from './connection-end.tsx'
import { ConnectionTags } from './connection-tags.tsx'
import { KeysCard } from '../keys/keys-card.tsx'
import { MembersCard } from './members-card.tsx'
import { RenameDialog } from './rename-dialog.tsx'
import { StarButton, useStar } from '../star-button.tsx'
import { WordsOnRequest } from '../words-on-request.tsx'

/** Returns the other account of a direct connection; null for a group, or if there is none. */
const otherAccount = ({ kind, members }: Schemas['Connection']): Schemas['Member'] | null =>
  kind === 'group'
    ? null
    : (members.find(({ name_source, user_id }) => name_source !== 'own' && user_id !== null) ??
      null)

export const ConnectionView = ({ id }: { readonly id: string }) => {
  const { people, frame } = messages()
  const isRenaming = useSignal(false)
  const connection = useResource(
    `connection ${id}`,
    () => dataOf(api.GET('/api/v1/connections/{id}', { params: { path: { id } } })),
    ['connection.*', 'member.*', 'invitation.*', 'trust.*'],
  )
  const read = connection.data.value
  const show = (changed: Schemas['Connection']) => {
    connection.change(() => changed)
  }
  const star = useStar(show)
  return (
    <PageFrame
      title={read === undefined ? frame.people : displayedName(read.name)}
      back={{ href: hrefOf('people'), text: people.backToPeople }}
      actions={
        read === undefined ? null : (
          <>
            <StarButton connection={read} action={star} />
            <button
              type="button"
              onClick={() => {
                isRenaming.value = true
              }}
            >
              {people.rename}
            </button>
            {read.state === 'active' ? (
              <a class="button main" href={hrefOf('call', id)}>
                {people.call}
              </a>
            ) : null}
          </>
        )
      }
    >
      <FailureNotice of={star.failure} />
      <Loaded from={connection}>
        {(one) => {
          const other = otherAccount(one)
          return (
            <>
              {one.replaced_by === null ? null : (
                <NoticeBox kind="bad">
                  {people.replacedBy}{' '}
                  <a href={hrefOf('people', one.replaced_by)}>{people.openReplacement}</a>
                </NoticeBox>
              )}
              {one.state === 'ended' ? <NoticeBox kind="bad">{people.ended}</NoticeBox> : null}
              {one.state === 'active' ? <WordsOnRequest id={id} /> : null}
              <MembersCard connection={one} onChange={() => connection.reload()} />
              {other === null ? null : (
                <KeysCard
                  account={other.user_id!}
                  name={other.display_name}
                  onRename={() => connection.reload()}
                />
              )}
              <CheckHistory of={id} />
              <ConnectionTags connection={one} onChange={show} />
              <ConnectionEnd connection={one} onChange={show} />
            </>
          )
        }}
      </Loaded>
      {isRenaming.value && read !== undefined ? (
        <RenameDialog
          name={read.name}
          work={async (name) => {
            const params = { path: { id } }
            show(await dataOf(api.PATCH('/api/v1/connections/{id}', { params, body: { name } })))
          }}
          onClose={() => {
            isRenaming.value = false
          }}
        />
      ) : null}
    </PageFrame>
  )
}
