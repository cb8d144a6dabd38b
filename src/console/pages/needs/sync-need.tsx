/** A sync that failed although the account server answers again. */
import { useAction } from '../../data/action.ts'
import { api, dataOf } from '../../data/api.ts'
import type { Needs } from '../../data/needs.ts'
import { readStatus } from '../../data/status.ts'
import { messages } from '../../text/text.tsx'
import { ActionButton } from '../../ui/button.tsx'
import { FailureNotice } from '../../ui/failure.tsx'
import { ServerText } from '../../ui/server-text.tsx'
import { When } from '../../ui/when.tsx'
import { NeedCard, type Settle } from './need-card.tsx'

export const SyncNeed = (of: {
  readonly error: Needs['syncs'][number]
  readonly settle: Settle
}) => {
  const texts = messages().needs
  const sync = useAction(async () => {
    await dataOf(api.POST('/api/v1/sync'))
    await readStatus()
    of.settle(texts.synced)
  })
  return (
    <NeedCard title={texts.sync} facts={<When at={of.error.at} />}>
      <p>
        <ServerText text={of.error.message} lang="en" />
      </p>
      <FailureNotice of={sync.failure} />
      <ActionButton action={sync} kind="main">
        {texts.syncNow}
      </ActionButton>
    </NeedCard>
  )
}
