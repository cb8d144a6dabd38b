import type { PagedList } from '../data/paged.ts'
import { messages } from '../text/text.tsx'
import { FailureNotice } from './failure.tsx'

/** The end of a paged list: why it could not be read, and a button that reads on. */
export const MoreOfList = ({ of }: { readonly of: PagedList<unknown> }) => {
  const { common, frame } = messages()
  return (
    <>
      <FailureNotice of={of.failure} />
      {of.items.value === undefined && of.isReading.value ? (
        <p role="status">{frame.loading}</p>
      ) : null}
      {of.hasMore.value ? (
        <button type="button" aria-busy={of.isReading.value} onClick={() => void of.more()}>
          {of.isReading.value ? common.running : common.more}
        </button>
      ) : null}
    </>
  )
}
