/** The page of one account, such as a member of a group: its keys. */
import { displayedName } from '../../../../crypto/encoding/quoted.ts'
import { api, dataOf } from '../../../data/api.ts'
import { useResource } from '../../../data/resource.ts'
import { hrefOf } from '../../../shell/router.ts'
import { filled, messages } from '../../../text/text.tsx'
import { Loaded, PageFrame } from '../../../ui/page.tsx'
import { PersonNameText } from '../../../ui/person-name.tsx'
import { KeysCard } from './keys-card.tsx'
import { useTrustCards } from '../people-data.ts'

export const AccountView = ({ id }: { readonly id: string }) => {
  const { people } = messages()
  const cards = useTrustCards()
  const profile = useResource(
    `profile ${id}`,
    () => dataOf(api.GET('/api/v1/profiles/{id}', { params: { path: { id } } })),
    [],
  )
  const card = cards.data.value?.find(({ user_id }) => user_id === id)
  // A profile is only what the account server shows.
  const claimed = profile.data.value?.display_name
  const named =
    card ??
    (claimed === undefined
      ? undefined
      : { display_name: claimed, name_source: 'server' as const, name_marks: [] })
  const name = named?.display_name ?? ''
  return (
    <PageFrame
      title={name === '' ? people.keysTitle : filled(people.keysOf, { name: displayedName(name) })}
      back={{ href: hrefOf('people'), text: people.backToPeople }}
    >
      <Loaded from={profile}>
        {() => (
          <>
            {named === undefined ? null : (
              <p>
                <PersonNameText of={named} />
              </p>
            )}
            <KeysCard account={id} name={name} />
          </>
        )}
      </Loaded>
    </PageFrame>
  )
}
