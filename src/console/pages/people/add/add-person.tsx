/** The three ways to add a person. */
import { hrefOf } from '../../../shell/router.ts'
import { messages } from '../../../text/text.tsx'
import { PageFrame } from '../../../ui/page.tsx'
import { AddAccount } from './add-account.tsx'
import { AddGuest } from './add-guest.tsx'
import { PublicPages } from './public-pages.tsx'

const WAYS = [
  { name: 'account', title: 'addAccount', text: 'addAccountText', Form: AddAccount },
  { name: 'guest', title: 'addGuest', text: 'addGuestText', Form: AddGuest },
  { name: 'page', title: 'addPage', text: 'addPageText', Form: PublicPages },
] as const

/** Shows the ways, and the form of the chosen one. */
export const AddPerson = ({ way }: { readonly way: string | undefined }) => {
  const { people } = messages()
  const chosen = WAYS.find(({ name }) => name === way)
  return (
    <PageFrame
      title={people.addTitle}
      back={{ href: hrefOf('people'), text: people.backToPeople }}
      lead={people.addLead}
    >
      <ul class="ways">
        {WAYS.map(({ name, title, text }) => (
          <li key={name}>
            <a
              href={hrefOf('people', 'add', name)}
              aria-current={name === way ? 'true' : undefined}
            >
              <strong>{people[title]}</strong>
              <span>{people[text]}</span>
            </a>
          </li>
        ))}
      </ul>
      {chosen === undefined ? null : <chosen.Form key={chosen.name} />}
    </PageFrame>
  )
}
