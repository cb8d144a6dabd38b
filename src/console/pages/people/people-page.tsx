/** The page of people: the list, one person, and a new one. */
import { ID_PREFIX } from '../../../crypto/encoding/id.ts'
import type { PageProps } from '../../shell/page-props.ts'
import { AccountView } from './keys/account-view.tsx'
import { AddPerson } from './add/add-person.tsx'
import { ConnectionView } from './connection/connection-view.tsx'
import { GuestView } from './guest/guest-view.tsx'
import { PeopleList } from './people-list.tsx'

const VIEWS = [
  [ID_PREFIX.connection, ConnectionView],
  [ID_PREFIX.guest, GuestView],
  [ID_PREFIX.account, AccountView],
] as const

export default function PeoplePage({ rest }: PageProps) {
  const [subject, way] = rest
  if (subject === 'add') return <AddPerson way={way} />
  const view = VIEWS.find(([prefix]) => subject?.startsWith(prefix))
  if (subject === undefined || view === undefined) return <PeopleList />
  const [, View] = view
  return <View key={subject} id={subject} />
}
