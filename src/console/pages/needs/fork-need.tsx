/** A connection of which the account server showed two histories. */
import type { Schemas } from '../../data/api.ts'
import { hrefOf } from '../../shell/router.ts'
import { messages, MessageText } from '../../text/text.tsx'
import { Name } from '../../ui/person-name.tsx'
import { NeedCard } from './need-card.tsx'

export const ForkNeed = (of: {
  readonly connection: Schemas['Status']['forked_connections'][number]
}) => {
  const texts = messages().needs
  const { id, name, replaced_by } = of.connection
  return (
    <NeedCard title={<MessageText of={texts.fork} values={{ name: <Name of={name} /> }} />}>
      <p>{texts.forkText}</p>
      <p>{replaced_by === null ? texts.forkWait : texts.forkReplaced}</p>
      <div class="answers">
        {replaced_by === null ? null : (
          <a class="button main" href={hrefOf('people', replaced_by)}>
            {texts.toReplacement}
          </a>
        )}
        <a class="button" href={hrefOf('people', id)}>
          {texts.toConnection}
        </a>
      </div>
    </NeedCard>
  )
}
