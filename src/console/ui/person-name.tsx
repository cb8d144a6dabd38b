/** Names of other people, with their source: a name that only its owner chose is a claim. */
import { displayedName } from '../../crypto/encoding/quoted.ts'
import type { Schemas } from '../data/api.ts'
import { MessageText, messages } from '../text/text.tsx'

type Named = Pick<Schemas['Match'], 'display_name' | 'name_source' | 'name_marks'>

/** A name that is isolated from the direction of the text around it. */
export const Name = ({ of }: { readonly of: string }) => <bdi>{displayedName(of)}</bdi>

/** A person's name, with what makes it doubtful. */
export const PersonNameText = ({ of }: { readonly of: Named }) => {
  const { common } = messages()
  const name = <Name of={of.display_name} />
  const marks = of.name_marks.map((mark) =>
    mark === 'equal' ? common.sameName : common.mixedScript,
  )
  return (
    <span class="person">
      {of.name_source === 'self' ? (
        <MessageText of={common.callsItself} values={{ name }} />
      ) : of.name_source === 'server' ? (
        <MessageText of={common.serverSays} values={{ name }} />
      ) : (
        name
      )}
      {marks.length === 0 ? null : (
        <span class="badge" data-kind="warn">
          {marks.join(', ')}
        </span>
      )}
    </span>
  )
}
