/** The stamps of this device. */
import { useSignal } from '@preact/signals'
import { api, dataOf, type Schemas } from '../../data/api.ts'
import { usePagedList } from '../../data/paged.ts'
import { sizeText } from '../../text/size.ts'
import { messages } from '../../text/text.tsx'
import { Copyable } from '../../ui/copyable.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { MoreOfList } from '../../ui/more-button.tsx'
import { Name } from '../../ui/person-name.tsx'
import { ServerText } from '../../ui/server-text.tsx'
import { TableBox } from '../../ui/table-box.tsx'
import { When } from '../../ui/when.tsx'
import { StampSummary } from './stamp-summary.tsx'

type Listed = Schemas['ListedStamp']

/** Whether the account server has the stamp. */
const StampState = ({ of }: { readonly of: Listed }) => {
  const { stamps } = messages()
  return of.received_at === null ? (
    <span class="badge" data-kind="warn">
      {stamps.waitingShort}
    </span>
  ) : (
    <span class="badge" data-kind="ok">
      {stamps.registered}
    </span>
  )
}

const StampDetails = ({ of }: { readonly of: Listed }) => {
  const { stamps } = messages()
  return (
    <dl>
      <dt>{stamps.signedAt}</dt>
      <dd>
        <When at={of.signed_at} />
      </dd>
      <dt>{stamps.receivedAt}</dt>
      <dd>{of.received_at === null ? stamps.notYet : <When at={of.received_at} />}</dd>
      {of.media_type === null ? null : (
        <>
          <dt>{stamps.mediaType}</dt>
          <dd>
            <Name of={of.media_type} />
          </dd>
        </>
      )}
      {of.length === null ? null : (
        <>
          <dt>{stamps.size}</dt>
          <dd>{sizeText(of.length)}</dd>
        </>
      )}
      <dt>{stamps.words}</dt>
      <dd>
        <span translate={false} lang="en">
          {of.words}
        </span>
        <p class="hint">{stamps.wordsHint}</p>
      </dd>
      <dt>{stamps.hash}</dt>
      <dd>
        <Copyable label={stamps.hash} value={of.sha256}>
          <code class="long" translate={false}>
            {of.sha256}
          </code>
        </Copyable>
      </dd>
    </dl>
  )
}

/** Lists the stamps, newest first. */
export const StampList = () => {
  const { stamps, common } = messages()
  const shown = useSignal<Listed | null>(null)
  const list = usePagedList<Listed>(
    'stamps',
    {
      read: (query) => dataOf(api.GET('/api/v1/stamps', { params: { query } })),
      keyOf: ({ id }) => id,
      fits: () => true,
      wanted: 1,
    },
    ['stamp.created', 'sync.done'],
  )
  const items = list.shown
  const open = shown.value
  const nameOf = (stamp: Listed) => stamp.context ?? stamps.noContext
  return (
    <section class="card">
      <h2>{stamps.list}</h2>
      {items === undefined ? null : items.length === 0 ? (
        <p>{stamps.none}</p>
      ) : (
        <TableBox
          label={stamps.list}
          heading={[
            stamps.content,
            stamps.signedAt,
            stamps.state,
            <span key="show" class="unseen">
              {stamps.show}
            </span>,
          ]}
        >
          {items.map((stamp) => (
            <tr key={stamp.id}>
              <td>
                {stamp.context === null ? (
                  <span class="lead">{stamps.noContext}</span>
                ) : (
                  <ServerText text={stamp.context} />
                )}
              </td>
              <td>
                <When at={stamp.signed_at} />
              </td>
              <td>
                <StampState of={stamp} />
              </td>
              <td class="row-actions">
                <button
                  type="button"
                  class="small"
                  onClick={() => {
                    shown.value = stamp
                  }}
                >
                  {stamps.show}
                  <span class="unseen"> {nameOf(stamp)}</span>
                </button>
              </td>
            </tr>
          ))}
        </TableBox>
      )}
      <MoreOfList of={list} />
      {open === null ? null : (
        <Dialog
          title={stamps.details}
          onClose={() => {
            shown.value = null
          }}
        >
          {open.context === null ? null : (
            <p>
              <ServerText text={open.context} />
            </p>
          )}
          <StampSummary
            stamp={open}
            isWaiting={open.received_at === null}
            fileName={open.words.replaceAll(' ', '-')}
          />
          <StampDetails of={open} />
          <div class="answers">
            <button
              type="button"
              onClick={() => {
                shown.value = null
              }}
            >
              {common.close}
            </button>
          </div>
        </Dialog>
      )}
    </section>
  )
}
